//! Charts: lines with a common axis, as SVG without a library, in colours for light and dark mode.

use std::fmt::Write as _;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 72.0;
const COLOURS: [&str; 5] = ["#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed"];

/// A named line of a chart.
pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

impl Line {
    pub fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.into(), points: points.into_iter().collect() }
    }
}

/// A chart with lines.
pub struct Chart {
    pub title: &'static str,
    pub across: &'static str,
    pub up: &'static str,
    /// True if the x axis is logarithmic, with powers of two at equal distances.
    pub is_logarithmic: bool,
    pub lines: Vec<Line>,
}

impl Chart {
    /// The picture as SVG.
    pub fn draw(&self) -> String {
        let x_of = |x: f64| if self.is_logarithmic { x.max(1e-9).log2() } else { x };
        let all = || self.lines.iter().flat_map(|line| line.points.iter().copied());
        let low = all().map(|(x, _)| x_of(x)).fold(f64::INFINITY, f64::min);
        let high = all().map(|(x, _)| x_of(x)).fold(f64::NEG_INFINITY, f64::max);
        let top = all().map(|(_, y)| y).fold(0.0, f64::max).max(1e-9) * 1.08;
        let across =
            |x: f64| LEFT + (x_of(x) - low) / (high - low).max(1e-9) * (WIDTH - LEFT - RIGHT);
        let up = |y: f64| HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\" role=\"img\"><title>{0}</title><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"14\" fill=\"#111827\">{0}</text>",
            self.title
        );
        for step in 0..=4 {
            let value = top * f64::from(step) / 4.0;
            let y = up(value);
            let _ = write!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e5e7eb\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#4b5563\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                short(value)
            );
        }
        let mut ticks: Vec<f64> = self
            .lines
            .first()
            .map(|line| line.points.iter().map(|(x, _)| *x).collect())
            .unwrap_or_default();
        let every = ticks.len().div_ceil(12).max(1);
        ticks = ticks.into_iter().step_by(every).collect();
        for tick in ticks {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#4b5563\">{}</text>",
                across(tick),
                HEIGHT - BOTTOM + 18.0,
                short(tick)
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#111827\">{}</text>\
             <text x=\"{LEFT}\" y=\"36\" fill=\"#4b5563\">{}</text>",
            (WIDTH + LEFT - RIGHT) / 2.0,
            HEIGHT - BOTTOM + 36.0,
            self.across,
            self.up
        );
        for (number, line) in self.lines.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let points: Vec<String> = line
                .points
                .iter()
                .map(|(x, y)| format!("{:.1},{:.1}", across(*x), up(*y)))
                .collect();
            let left_edge = LEFT + 150.0 * number as f64;
            let _ = write!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
                 <rect x=\"{left_edge}\" y=\"{}\" width=\"12\" height=\"3\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"{}\" fill=\"#111827\">{}</text>",
                points.join(" "),
                HEIGHT - 18.0,
                left_edge + 17.0,
                HEIGHT - 13.0,
                line.name
            );
        }
        svg + "</svg>\n"
    }
}

fn short(value: f64) -> String {
    if value >= 100.0 || (value.fract() == 0.0 && value.abs() < 1e6) {
        format!("{value:.0}")
    } else if value >= 1.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}
