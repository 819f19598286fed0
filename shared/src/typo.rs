//! Domains that are mistyped for well-known ones.

use strsim::osa_distance;

/// Minimum length in bytes; shorter domains are too similar to other existing domains.
const MIN_MISSPELT: usize = 7;
/// Minimum length in bytes for recognising two slips.
const MIN_TWO_SLIPS: usize = 10;

/// Rows of most keyboard layouts.
const ROWS: [&str; 4] = ["1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm"];

/// The domain among `known` that `typed` was probably meant to be: of equally close ones, the first. `None` if `typed`
/// is one of them, is too short, or is farther from each than two slips.
pub fn closest_domain<'a, Known: Iterator<Item = &'a str>>(
    typed: &str,
    known: impl Fn() -> Known,
) -> Option<&'a str> {
    if typed.len() < MIN_MISSPELT || known().any(|it| it == typed) {
        return None;
    }
    let cost = |known: &&str| cost(typed, known).unwrap_or(u8::MAX);
    let closest = known().min_by_key(cost)?;
    (cost(&closest) < u8::MAX).then_some(closest)
}

/// Unlikelihood of typing `typed` for `intended`, from 0; `None` if it is more than a typing slip.
fn cost(typed: &str, intended: &str) -> Option<u8> {
    if is_slip_of_ending(typed, intended) {
        return Some(0);
    }
    match osa_distance(typed, intended) {
        1 if is_easy(typed, intended) => Some(0),
        1 => Some(1),
        2 if typed.len() >= MIN_TWO_SLIPS && intended.len() >= MIN_TWO_SLIPS => Some(2),
        _ => None,
    }
}

/// Slips such as `con`, `cmo`, `c` or `comm`.
fn is_slip_of_ending(typed: &str, intended: &str) -> bool {
    let (Some((typed, typed_end)), Some((intended, meant_end))) =
        (typed.rsplit_once('.'), intended.rsplit_once('.'))
    else {
        return false;
    };
    let is_cut = meant_end.starts_with(typed_end);
    typed == intended && (is_cut || osa_distance(typed_end, meant_end) == 1)
}

/// True if two letters are swapped, one is typed twice instead of once or once instead of twice, or one comes from a
/// neighbouring key.
fn is_easy(typed: &str, intended: &str) -> bool {
    let (typed, intended) = (typed.as_bytes(), intended.as_bytes());
    let same = typed.iter().zip(intended).take_while(|(typed, intended)| typed == intended).count();
    let at = |text: &[u8], place: usize| text.get(place).copied();
    match typed.len().cmp(&intended.len()) {
        std::cmp::Ordering::Greater => same > 0 && at(typed, same) == at(typed, same - 1),
        std::cmp::Ordering::Less => same > 0 && at(intended, same) == at(intended, same - 1),
        std::cmp::Ordering::Equal => {
            let is_exchanged = at(typed, same) == at(intended, same + 1)
                && at(typed, same + 1) == at(intended, same)
                && at(typed, same) != at(typed, same + 1);
            let keys = at(typed, same).zip(at(intended, same));
            is_exchanged || keys.is_some_and(|(typed, intended)| are_neighbours(typed, intended))
        }
    }
}

fn are_neighbours(one: u8, other: u8) -> bool {
    let place = |key: u8| {
        let rows = ROWS.iter().enumerate();
        rows.flat_map(|(row, keys)| keys.find(char::from(key)).map(|column| (row, column))).next()
    };
    place(one).zip(place(other)).is_some_and(|((row, column), (other_row, other_column))| {
        row.abs_diff(other_row) <= 1 && column.abs_diff(other_column) <= 1
    })
}

#[cfg(test)]
mod tests {
    use super::closest_domain;

    fn closest<'a>(typed: &str, known: &'a [&'a str]) -> Option<&'a str> {
        closest_domain(typed, || known.iter().copied())
    }

    #[test]
    fn of_two_domains_the_one_is_meant_whose_slip_is_easy() {
        for (typed, unlikely, meant) in [
            ("gmaill.com", "gmailz.com", "gmail.com"),
            ("gogle.com", "gogxle.com", "google.com"),
            ("gmial.com", "gmipl.com", "gmail.com"),
            ("gnail.com", "gpail.com", "gmail.com"),
            ("gmail.cmo", "gmails.cmo", "gmail.com"),
        ] {
            assert_eq!(closest(typed, &[unlikely, meant]), Some(meant), "{typed}");
            assert_eq!(closest(typed, &[unlikely]), Some(unlikely), "{typed}");
        }
    }

    #[test]
    fn two_slips_are_recognised_in_long_domains_only() {
        for (typed, known, is_meant) in [
            ("hotnaill.com", "hotmail.com", true),
            ("gmaiil.con", "gmaill.com", true),
            ("gnaill.com", "gmail.com", false),
            ("gnai.com", "gmail.com", false),
            ("hotxxx.com", "hotmail.com", false),
            ("gmx.ne", "gmx.net", false),
            ("gmail.c", "gmail.com", true),
            ("hotmail.com", "hotmail.com", false),
        ] {
            assert_eq!(closest(typed, &[known]).is_some(), is_meant, "{typed}");
        }
    }
}
