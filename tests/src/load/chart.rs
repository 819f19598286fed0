//! The run as a picture: latency, errors and memory over time.

use std::fmt::Write as _;

use super::report::{Report, Sample};

const WIDTH: f64 = 900.0;
const PANEL: f64 = 180.0;
const MARGIN: f64 = 70.0;
const GAP: f64 = 60.0;

struct Line<'a> {
    name: &'a str,
    colour: &'a str,
    points: Vec<(f64, f64)>,
}

/// An SVG document.
pub fn draw(report: &Report, samples: &[Sample]) -> String {
    let of = |value: fn(&super::report::Second) -> f64| {
        let seconds = report.timeline.iter().map(|second| (second.second as f64, value(second)));
        seconds.filter(|(_, value)| value.is_finite()).collect()
    };
    let resident = |value: fn(&Sample) -> u64| {
        samples.iter().map(|sample| (sample.second, value(sample) as f64 / 1e6)).collect()
    };
    let panels = [
        (
            "latency of all checks, ms, from when each was due",
            vec![
                Line { name: "p99", colour: "#c2410c", points: of(|second| second.p99) },
                Line { name: "p50", colour: "#1d4ed8", points: of(|second| second.p50) },
            ],
        ),
        (
            "answers and errors a second",
            vec![
                Line { name: "answers", colour: "#15803d", points: of(|s| s.answers as f64) },
                Line { name: "errors", colour: "#b91c1c", points: of(|s| s.errors as f64) },
            ],
        ),
        (
            "resident memory, MB",
            vec![
                Line { name: "workerd", colour: "#7c3aed", points: resident(|s| s.workerd) },
                Line { name: "origin", colour: "#0f766e", points: resident(|s| s.origin) },
            ],
        ),
    ];
    let height = MARGIN + panels.len() as f64 * (PANEL + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n<text x=\"{MARGIN}\" y=\"28\" font-size=\"17\">{} checks in {} s: \
         {:.3} % errors, fresh p99 {:.0} ms, cached p99 {:.0} ms</text>\n",
        WIDTH + 2.0 * MARGIN,
        report.requests,
        report.seconds,
        report.error_rate * 100.0,
        report.fresh_ms.p99,
        report.cached_ms.p99,
    );
    for (index, (title, lines)) in panels.iter().enumerate() {
        panel(&mut svg, MARGIN + index as f64 * (PANEL + GAP), title, lines, report.seconds as f64);
    }
    svg + "</svg>\n"
}

fn panel(svg: &mut String, top: f64, title: &str, lines: &[Line<'_>], seconds: f64) {
    let most = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let most = most.fold(1.0, f64::max);
    let bottom = top + PANEL;
    let _ = writeln!(
        svg,
        "<text x=\"{MARGIN}\" y=\"{}\">{title}</text>\n<rect x=\"{MARGIN}\" y=\"{top}\" \
         width=\"{WIDTH}\" height=\"{PANEL}\" fill=\"none\" stroke=\"#999\"/>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{most:.0}</text>\n\
         <text x=\"{}\" y=\"{bottom}\" text-anchor=\"end\">0</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{seconds:.0} s</text>",
        top - 8.0,
        MARGIN - 6.0,
        top + 12.0,
        MARGIN - 6.0,
        MARGIN + WIDTH,
        bottom + 16.0,
    );
    for (index, Line { name, colour, points }) in lines.iter().enumerate() {
        let path: Vec<_> = points
            .iter()
            .map(|(x, y)| {
                let x = MARGIN + x.min(seconds) / seconds.max(1.0) * WIDTH;
                format!("{x:.1},{:.1}", bottom - y / most * PANEL)
            })
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>\n\
             <text x=\"{}\" y=\"{}\" fill=\"{colour}\">{name}</text>",
            path.join(" "),
            MARGIN + WIDTH - 160.0 + index as f64 * 80.0,
            top - 8.0,
        );
    }
}
