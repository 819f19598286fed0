//! Finds the column of addresses and the heading above it, and what stands above the heading.

use crate::{delimiter::is_address, list::Column};

/// The surest first.
const NAMES: [&str; 14] = [
    "email",
    "e-mail",
    "e_mail",
    "email address",
    "e-mail address",
    "email_address",
    "emailaddress",
    "e-mail-adresse",
    "emailadresse",
    "correo electrónico",
    "adresse e-mail",
    "indirizzo email",
    "mail",
    "courriel",
];
const HEADING_ROWS: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// Absent if no column has an address.
    pub column: Option<usize>,
    pub header: Option<usize>,
    pub above: usize,
    pub others: Vec<usize>,
}

/// `rows` have no blank line.
pub(crate) fn find(rows: &[Vec<String>], chosen: Option<&Column>) -> Place {
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let counts: Vec<usize> = (0..width)
        .map(|column| rows.iter().filter(|row| is_address(cell(row, column))).count())
        .collect();
    let count = |column: usize| counts.get(column).copied().unwrap_or(0);
    let named = |names: &[&str]| {
        names.iter().find_map(|name| {
            let heading = |row: &Vec<String>| row.iter().position(|cell| is_named(cell, name));
            let rows = rows.iter().take(HEADING_ROWS).enumerate();
            rows.filter(|(_, row)| !has_at(row)).find_map(|(at, row)| Some((at, heading(row)?)))
        })
    };
    let by_name = match chosen {
        Some(Column::Named(name)) => named(&[name]),
        Some(Column::Number(_)) => None,
        None => {
            NAMES.iter().find_map(|name| named(&[name]).filter(|(_, column)| count(*column) > 0))
        }
    };
    let by_content =
        || (0..width).rev().max_by_key(|column| count(*column)).filter(|it| count(*it) > 0);
    let by_number =
        |name: &str| name.parse::<usize>().ok()?.checked_sub(1).filter(|it| *it < width);
    let column = match (by_name, chosen) {
        (Some((_, column)), _) => Some(column),
        (None, Some(Column::Number(column))) => Some(*column).filter(|column| *column < width),
        (None, Some(Column::Named(name))) => by_number(name),
        (None, None) => by_content(),
    };
    let header = by_name
        .map(|(at, _)| at)
        .filter(|at| is_table_below(rows, *at))
        .or_else(|| column.and_then(|column| heading(rows, column)));
    // Cells beyond the headings are shifted by a comma, and no column of their own.
    let headings = header.and_then(|at| rows.get(at)).map_or(width, Vec::len);
    let regular =
        |other: usize| rows.iter().any(|row| row.len() <= headings && is_address(cell(row, other)));
    let others = (0..width).filter(|other| Some(*other) != column && regular(*other)).collect();
    let above = header.map_or(0, |header| header + 1 + further_headings(rows, header));
    Place { column, header, above, others }
}

/// A heading is above the first `@` of its column, isn't blank, and has no `@` in its row.
fn heading(rows: &[Vec<String>], column: usize) -> Option<usize> {
    let above = rows.iter().take(HEADING_ROWS).take_while(|row| !cell(row, column).contains('@'));
    let (at, _) =
        above.enumerate().find(|(_, row)| !cell(row, column).trim().is_empty() && !has_at(row))?;
    // The only row of a list isn't its heading, and rows of people aren't what stands above one.
    (rows.len() > 1 && is_table_below(rows, at)).then_some(at)
}

/// The rows above a heading are titles: without an address, and with fewer filled cells.
fn is_table_below(rows: &[Vec<String>], at: usize) -> bool {
    let filled = |row: &Vec<String>| row.iter().filter(|cell| !cell.trim().is_empty()).count();
    let own = rows.get(at).map_or(0, filled);
    let is_title =
        |row: &Vec<String>| filled(row) < own && !row.iter().any(|cell| is_address(cell));
    rows.iter().take(at).all(is_title)
}

/// Qualtrics writes three rows of headings, the last of which names the import.
fn further_headings(rows: &[Vec<String>], header: usize) -> usize {
    let is_last = |row: &Vec<String>| row.iter().any(|cell| cell.starts_with("{\"ImportId\""));
    let mut headings = rows.iter().skip(header + 1).take(2).take_while(|row| !has_at(row));
    headings.position(is_last).map_or(0, |at| at + 1)
}

fn cell(row: &[String], column: usize) -> &str {
    row.get(column).map_or("", String::as_str)
}

fn has_at(row: &[String]) -> bool {
    row.iter().any(|cell| cell.contains('@'))
}

fn is_named(cell: &str, name: &str) -> bool {
    cell.trim().to_lowercase() == name.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{Column, find};

    fn rows(text: &str) -> Vec<Vec<String>> {
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    }

    #[test]
    fn a_heading_is_surer_than_the_number_of_addresses_and_needs_an_address_below() {
        let place = find(&rows("Username,Email\na@x.org,b@x.org\nc@x.org,"), None);
        assert_eq!((place.column, place.header, place.others), (Some(1), Some(0), vec![0]));
        let place = find(&rows("email,contact\nyes,b@x.org"), None);
        assert_eq!((place.column, place.header), (Some(1), Some(0)));
    }

    #[test]
    fn nobody_is_taken_for_a_heading() {
        let place = find(&rows("Ann,,a@x.org\nBob,b@x.org,c@x.org\nCid,,d@x.org"), None);
        assert_eq!((place.column, place.header), (Some(2), None));
        let place = find(&rows("Ann,\nBob,b@x.org"), None);
        assert_eq!((place.column, place.header, place.above), (Some(1), None, 0));
        let place = find(&rows("name,email\nAnn,nobody\nBob,b@x.org"), None);
        assert_eq!((place.header, place.above), (Some(0), 1), "Ann is a row");
        let place = find(&rows("a@x.org\nb@x.org\nemail,name"), None);
        assert_eq!((place.header, place.above), (None, 0), "people are above it");
        let place = find(&rows("email\na@x.org\n{\"ImportId\""), None);
        assert_eq!(place.above, 1, "a row of headings is above the first person");
    }

    #[test]
    fn titles_are_above_the_heading() {
        let place = find(&rows("Customers,,\n,,\nName,Mail to,City\nAnn,a@x.org,Bonn"), None);
        assert_eq!((place.column, place.header, place.above), (Some(1), Some(2), 3));
    }

    #[test]
    fn a_column_is_chosen_by_name_or_by_number_also_without_an_address() {
        let rows = rows("name,email\nAnn,nobody\nBob,");
        assert_eq!(find(&rows, None).column, None);
        for name in ["EMAIL", "2"] {
            let place = find(&rows, Some(&Column::Named(name.to_owned())));
            assert_eq!((place.column, place.header), (Some(1), Some(0)), "{name}");
        }
        assert_eq!(find(&rows, Some(&Column::Named("phone".to_owned()))).column, None);
        assert_eq!(find(&rows, Some(&Column::Number(2))).column, None);
    }
}
