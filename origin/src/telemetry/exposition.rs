//! The two text formats of metrics: OpenMetrics 1.0, and Prometheus' classic format, which every tool reads.

use std::fmt::Write as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// <https://github.com/prometheus/OpenMetrics/blob/main/specification/OpenMetrics.md>
    OpenMetrics,
    /// <https://prometheus.io/docs/instrumenting/exposition_formats/>
    Classic,
}

impl Exposition {
    pub fn accepted_by(accept: &str) -> Self {
        let open_metrics = accept.split(',').any(|range| {
            let mut parts = range.split(';').map(str::trim);
            let accepts_openmetrics = parts.next() == Some("application/openmetrics-text");
            accepts_openmetrics && !parts.any(|parameter| ["q=0", "q=0.0"].contains(&parameter))
        });
        if open_metrics { Self::OpenMetrics } else { Self::Classic }
    }

    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// `open_metrics` is a text in that format.
    pub fn write(self, open_metrics: String) -> String {
        match self {
            Self::OpenMetrics => open_metrics,
            Self::Classic => classic(open_metrics.lines().filter(|line| *line != "# EOF")),
        }
    }
}

fn write_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Families are named as samples, no UNIT lines, infos as gauges, and a histogram's buckets before its sum and count.
fn classic<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let (mut written, mut help, mut totals) = (String::new(), None, String::new());
    for line in lines {
        let comment = line.strip_prefix("# ").and_then(|comment| comment.split_once(' '));
        if comment.is_some() {
            written.push_str(&std::mem::take(&mut totals));
        }
        match comment {
            Some(("HELP", named)) => help = Some(named),
            Some(("TYPE", named)) => {
                let (name, kind) = named.split_once(' ').unwrap_or((named, "unknown"));
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    "unknown" => ("", "untyped"),
                    kind => ("", kind),
                };
                if let Some((_, help)) = help.take().and_then(|help| help.split_once(' ')) {
                    // Writing to a String can't fail.
                    let _ = writeln!(written, "# HELP {name}{suffix} {help}");
                }
                let _ = writeln!(written, "# TYPE {name}{suffix} {kind}");
            }
            Some(_) => {}
            None if is_total(line) => write_line(&mut totals, line),
            None => write_line(&mut written, line),
        }
    }
    written + &totals
}

fn is_total(line: &str) -> bool {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    name.ends_with("_sum") || name.ends_with("_count")
}

#[cfg(test)]
mod tests {
    use super::Exposition;

    const FAMILIES: &str = "\
# HELP a_probes Probes finished.
# TYPE a_probes counter
a_probes_total{status=\"true\"} 1
# HELP a_took_seconds Time.
# TYPE a_took_seconds histogram
# UNIT a_took_seconds seconds
a_took_seconds_sum 0.5
a_took_seconds_count 1
a_took_seconds_bucket{le=\"+Inf\"} 1
# HELP a_build What runs.
# TYPE a_build info
a_build_info{version=\"1\"} 1
# EOF
";

    #[test]
    fn the_classic_format_names_each_family_as_its_samples() {
        let expected = "\
# HELP a_probes_total Probes finished.
# TYPE a_probes_total counter
a_probes_total{status=\"true\"} 1
# HELP a_took_seconds Time.
# TYPE a_took_seconds histogram
a_took_seconds_bucket{le=\"+Inf\"} 1
a_took_seconds_sum 0.5
a_took_seconds_count 1
# HELP a_build_info What runs.
# TYPE a_build_info gauge
a_build_info{version=\"1\"} 1
";
        assert_eq!(Exposition::Classic.write(FAMILIES.to_owned()), expected);
    }

    #[test]
    fn open_metrics_ends_once() {
        let text = Exposition::OpenMetrics.write(FAMILIES.to_owned());
        assert_eq!(text.matches("# EOF\n").count(), 1);
        assert!(text.ends_with("# EOF\n") && text.contains("# UNIT"));
    }

    #[test]
    fn open_metrics_is_for_those_who_ask_for_it() {
        for (accept, exposition) in [
            ("", Exposition::Classic),
            ("*/*", Exposition::Classic),
            ("text/plain;version=0.0.4", Exposition::Classic),
            ("application/openmetrics-text;version=1.0.0;q=0", Exposition::Classic),
            (
                "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2",
                Exposition::OpenMetrics,
            ),
        ] {
            assert_eq!(Exposition::accepted_by(accept), exposition, "{accept}");
        }
    }
}
