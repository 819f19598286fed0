//! Finds environment variables that look like settings but aren't.

use super::{Mistakes, SettingMistake, setting::meant_by, settings};

const PREFIX: &str = "RCPT_";
/// Path of the configuration file, which isn't a setting itself.
const CONFIG: &str = "RCPT_CONFIG";

/// Environment variables that begin with `RCPT_` but name no setting.
#[derive(Debug, Default)]
pub struct UnknownVariables {
    pub slips: Mistakes,
    /// All other names, which may belong to another program.
    pub strangers: Mistakes,
}

pub fn unknown_variables<'a>(names: impl IntoIterator<Item = &'a str>) -> UnknownVariables {
    let mut unknown = UnknownVariables::default();
    for variable in names {
        let Some(name) = variable.strip_prefix(PREFIX).map(str::to_ascii_lowercase) else {
            continue;
        };
        let is_known = settings::ALL.iter().any(|setting| setting.variable() == variable);
        if is_known || variable == CONFIG {
            continue;
        }
        let suggestion = meant_by(settings::ALL, &name)
            .map(|suggestion| format!("{PREFIX}{}", suggestion.to_ascii_uppercase()));
        let mistake = SettingMistake::unknown("variable", variable, suggestion.as_deref());
        let list = if suggestion.is_some() { &mut unknown.slips } else { &mut unknown.strangers };
        list.0.push(mistake);
    }
    unknown
}
