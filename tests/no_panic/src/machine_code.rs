//! The functions of a program and who calls whom, as `objdump` and `addr2line` tell it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::process::Command;

/// An address in the program.
type Address = u64;

pub struct MachineCode {
    program: PathBuf,
    functions: BTreeMap<Address, Function>,
    /// The functions that never return.
    diverging: BTreeSet<Address>,
}

struct Function {
    name: String,
    returns: bool,
    /// Calls, and jumps that leave the function: from where, and to which function.
    exits: Vec<Exit>,
}

impl Function {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), returns: false, exits: Vec::new() }
    }

    fn add(&mut self, at: Address, instruction: &str, relocations: &BTreeMap<Address, Target>) {
        let (mnemonic, operand) = instruction.split_once(' ').unwrap_or((instruction, ""));
        let operand = operand.trim();
        let is_jump = mnemonic.starts_with('j');
        self.returns |= mnemonic.starts_with("ret") || instruction == "repz ret";
        // A jump through a register is the table of a `match`, within the function.
        if mnemonic.starts_with("call") || is_jump && !operand.starts_with("*%") {
            self.exits.push(Exit { at, to: target(operand, relocations), is_jump });
        }
    }
}

struct Exit {
    at: Address,
    to: Target,
    is_jump: bool,
}

#[derive(Clone)]
enum Target {
    Code(Address),
    /// A function of another library, or one that is only known when the program runs.
    Other(String),
}

/// A call that never returns.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub struct Panic {
    pub callee: String,
    /// The functions of the source that the call is in, from the innermost to the outermost, with their lines.
    frames: Vec<String>,
}

impl Panic {
    /// Whether the call is in a source file whose path has this in it.
    pub fn is_in(&self, place: &str) -> bool {
        self.frames.iter().any(|frame| frame.contains(place))
    }
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n    in {}", self.callee, self.frames.join("\n    in "))
    }
}

impl MachineCode {
    pub fn of_this_program() -> Self {
        let program = std::env::current_exe().expect("the program has a path");
        let relocations = relocations(&program);
        let listing = output(Command::new("objdump").args(["-d", "-C", "--no-show-raw-insn"]).arg(&program));

        let mut functions = BTreeMap::<Address, Function>::new();
        for line in listing.lines() {
            if let Some((address, name)) = line.strip_suffix(">:").and_then(|line| line.split_once(" <")) {
                functions.insert(hex(address).expect("an address"), Function::new(name));
            } else if let Some((address, instruction)) = line.trim_start().split_once(":\t") {
                let mut function = functions.last_entry().expect("instructions follow a name");
                function.get_mut().add(hex(address).expect("an address"), instruction, &relocations);
            }
        }
        let mut code = Self { program, functions, diverging: BTreeSet::new() };
        code.find_diverging();
        code
    }

    /// Every call that never returns and that can be reached from the function `entry`.
    pub fn panics_from(&self, entry: &str) -> BTreeSet<Panic> {
        let (entry, _) = self.functions.iter().find(|(_, function)| function.name == entry).expect("the entry is kept");
        let mut panics = BTreeSet::new();
        let (mut seen, mut to_visit) = (BTreeSet::from([*entry]), vec![*entry]);
        while let Some(start) = to_visit.pop() {
            let function = &self.functions[&start];
            for exit in &function.exits {
                match &exit.to {
                    Target::Code(address) => {
                        let callee = self.start_of(*address);
                        if self.diverging.contains(&callee) {
                            panics.insert(self.panic(exit.at, &self.functions[&callee].name));
                        } else if seen.insert(callee) {
                            to_visit.push(callee);
                        }
                    }
                    Target::Other(name) if HARMLESS.contains(&name.as_str()) => {}
                    Target::Other(name) => {
                        panics.insert(self.panic(exit.at, name));
                    }
                }
            }
        }
        panics
    }

    /// A function never returns if it has no `ret` and leaves by no jump to one that may.
    fn find_diverging(&mut self) {
        let mut candidates: BTreeSet<Address> =
            self.functions.iter().filter(|(_, function)| !function.returns).map(|(start, _)| *start).collect();
        loop {
            let may_return: Vec<Address> = candidates
                .iter()
                .filter(|start| {
                    self.functions[*start].exits.iter().filter(|exit| exit.is_jump).any(|exit| match &exit.to {
                        Target::Code(address) => {
                            let to = self.start_of(*address);
                            to != **start && !candidates.contains(&to)
                        }
                        Target::Other(_) => true,
                    })
                })
                .copied()
                .collect();
            if may_return.is_empty() {
                break;
            }
            candidates.retain(|start| !may_return.contains(start));
        }
        self.diverging = candidates;
    }

    fn start_of(&self, address: Address) -> Address {
        *self.functions.range(..=address).next_back().expect("code is in functions").0
    }

    fn panic(&self, at: Address, callee: &str) -> Panic {
        let lines =
            output(Command::new("addr2line").args(["-i", "-f", "-C", "-e"]).arg(&self.program).arg(format!("{at:#x}")));
        let lines: Vec<&str> = lines.lines().collect();
        let frames = lines.chunks_exact(2).map(|frame| format!("{} at {}", frame[0], frame[1])).collect();
        Panic { callee: callee.to_owned(), frames }
    }
}

/// What the C library does for the compiler: none of these ends the program.
const HARMLESS: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// What the operand of a call or a jump leads to: `1f0d0 <name>`, or `*0x4c(%rip) # 6bda0 <name>` through a slot that the
/// loader fills.
fn target(operand: &str, relocations: &BTreeMap<Address, Target>) -> Target {
    let first_address = |text: &str| hex(text.trim().split(' ').next()?);
    let known = match operand.strip_prefix('*') {
        None => first_address(operand).map(Target::Code),
        Some(slot) => slot
            .split_once('#')
            .and_then(|(_, slot)| first_address(slot))
            .and_then(|slot| relocations.get(&slot).cloned()),
    };
    known.unwrap_or_else(|| Target::Other(operand.to_owned()))
}

/// What the loader writes into each slot.
fn relocations(program: &PathBuf) -> BTreeMap<Address, Target> {
    let listing = output(Command::new("objdump").arg("-R").arg(program));
    let entries = listing.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (slot, _, value) = (hex(words.next()?)?, words.next()?, words.next()?);
        let target = match value.strip_prefix("*ABS*+0x") {
            Some(address) => Target::Code(hex(address)?),
            None => Target::Other(value.split('@').next()?.to_owned()),
        };
        Some((slot, target))
    });
    entries.collect()
}

fn hex(digits: &str) -> Option<Address> {
    Address::from_str_radix(digits, 16).ok()
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; it is part of binutils"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("names are UTF-8")
}
