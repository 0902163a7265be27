//! The machine over real sockets, with each stack: what its errors are taken for, and what is sent because of it.

mod faults;
mod requests;
mod stack;
mod waits;
