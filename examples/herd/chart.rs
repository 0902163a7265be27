//! The picture: one panel a scene, all on the same axes.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::simulation::{LENGTH, OUTAGE, Outcome, Scene, capacity};
use crate::{grouped, recovery};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draws what `scenes` came to for a fleet of `clients` into an SVG file.
pub(crate) fn draw(path: &Path, clients: u32, scenes: &[(Scene, Outcome)]) -> Result<(), Box<dyn Error>> {
    let height = HEADER_HEIGHT + PANEL_HEIGHT * scenes.len() as u32 + FOOTER_HEIGHT;
    let root = SVGBackend::new(path, (WIDTH as u32, height)).into_drawing_area();
    // Not transparent: the text would be lost on a dark page.
    root.fill(&WHITE)?;

    let (header, rest) = root.split_vertically(HEADER_HEIGHT);
    draw_header(&header, clients)?;
    let (panels, footer) = rest.split_vertically(PANEL_HEIGHT * scenes.len() as u32);
    for (panel, (scene, outcome)) in panels.split_evenly((scenes.len(), 1)).iter().zip(scenes) {
        draw_panel(panel, clients, scene, outcome)?;
    }
    let x = LEFT + (WIDTH - LEFT - RIGHT) / 2;
    footer.draw_text("seconds since the service failed", &text(16).pos(Pos::new(HPos::Center, VPos::Top)), (x, 2))?;
    root.present()?;
    Ok(())
}

/// The title and the legend.
fn draw_header(header: &Area<'_>, clients: u32) -> Result<(), Box<dyn Error>> {
    let title = format!("{} clients, and a service that fails for {} s", grouped(clients), OUTAGE.as_secs());
    header.draw_text(&title, &bold(24), (LEFT, 12))?;
    let capacity = format!("capacity: {} a second", grouped(capacity(clients)));
    let entries: [(i32, RGBColor, &str); 4] = [
        (LEFT, ATTEMPTS, "attempts a second"),
        (LEFT + 170, ANSWERS, "successes a second"),
        (LEFT + 350, CAPACITY, &capacity),
        (LEFT + 580, SHADE, "the service is out"),
    ];
    for (x, colour, label) in entries {
        let height = if colour == CAPACITY { 2 } else { 12 };
        let middle = 53;
        header.draw(&Rectangle::new([(x, middle - height / 2), (x + 16, middle + height / 2)], colour.filled()))?;
        header.draw_text(label, &text(16), (x + 22, 46))?;
    }
    Ok(())
}

fn draw_panel(panel: &Area<'_>, clients: u32, scene: &Scene, outcome: &Outcome) -> Result<(), Box<dyn Error>> {
    panel.draw_text(scene.name, &bold(18), (LEFT, 6))?;
    panel.draw_text(scene.point, &text(16), (LEFT, 25))?;

    let seconds = LENGTH.as_secs() as u32;
    let top = clients + clients / 20;
    let mut chart = ChartBuilder::on(panel)
        .margin_top(46)
        .margin_bottom(6)
        .margin_right(RIGHT)
        .x_label_area_size(20)
        .y_label_area_size(LEFT as u32)
        .build_cartesian_2d(0..seconds, 0..top)?;

    chart.draw_series([Rectangle::new([(0, 0), (OUTAGE.as_secs() as u32, top)], SHADE.filled())])?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(AXIS)
        .x_labels(12)
        .y_labels(3)
        .y_label_formatter(&|count| grouped(*count))
        .label_style(text(14))
        .draw()?;
    chart.draw_series([Polygon::new(steps(&outcome.attempts), ATTEMPTS)])?;
    chart.draw_series([Polygon::new(steps(&outcome.answers), ANSWERS)])?;
    let capacity = capacity(clients);
    chart.draw_series([PathElement::new([(0, capacity), (seconds, capacity)], CAPACITY)])?;

    let notes = [
        format!("{} attempts", grouped(outcome.total_attempts())),
        format!("recovered {} after the outage", recovery(outcome)),
        format!("{} calls lost", grouped(outcome.calls_lost)),
    ];
    for (note, y) in notes.iter().zip([58, 76, 94]) {
        panel.draw_text(note, &text(16).pos(Pos::new(HPos::Right, VPos::Top)), (WIDTH - RIGHT - 8, y))?;
    }
    Ok(())
}

/// The outline of a bar for each second.
fn steps(counts: &[u32]) -> Vec<(u32, u32)> {
    let tops = (0..).zip(counts).flat_map(|(second, &count)| [(second, count), (second + 1, count)]);
    [(0, 0)].into_iter().chain(tops).chain([(counts.len() as u32, 0)]).collect()
}

fn text(size: u32) -> TextStyle<'static> {
    FontDesc::from((FontFamily::SansSerif, size)).color(&INK)
}

fn bold(size: u32) -> TextStyle<'static> {
    FontDesc::from((FontFamily::SansSerif, size, FontStyle::Bold)).color(&INK)
}

const WIDTH: i32 = 900;
const HEADER_HEIGHT: u32 = 76;
const PANEL_HEIGHT: u32 = 178;
const FOOTER_HEIGHT: u32 = 30;
const LEFT: i32 = 64;
const RIGHT: i32 = 16;

const INK: RGBColor = RGBColor(0x22, 0x26, 0x2b);
const AXIS: RGBColor = RGBColor(0x9a, 0xa0, 0xa6);
const GRID: RGBColor = RGBColor(0xe4, 0xe6, 0xe9);
const SHADE: RGBColor = RGBColor(0xf1, 0xe9, 0xec);
const ATTEMPTS: RGBColor = RGBColor(0xe0, 0x7b, 0x39);
const ANSWERS: RGBColor = RGBColor(0x1f, 0x77, 0xa4);
const CAPACITY: RGBColor = RGBColor(0x8b, 0x1e, 0x3f);
