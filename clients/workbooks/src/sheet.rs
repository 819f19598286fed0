//! A worksheet's XML, written again with further cells. What isn't touched keeps its bytes.

use std::ops::Range;

use quick_xml::{
    Reader, XmlVersion,
    escape::escape,
    events::{BytesStart, Event},
};

use crate::{Additions, Unreadable};

struct Row<'a> {
    number: u32,
    /// Attributes but the number and the span, each after a blank.
    attributes: String,
    /// Prefix of its elements, such as `x:`.
    prefix: &'a str,
    cells: Vec<Cell<'a>>,
}

struct Cell<'a> {
    column: u32,
    raw: &'a str,
    attributes: String,
    /// Content between the tags, without formulas.
    content: String,
}

/// Writes a worksheet with the additions. If rows move, formulas become their values, and what refers to cells goes.
pub(crate) fn written(xml: &str, additions: &Additions) -> Result<String, Unreadable> {
    let mut to = String::with_capacity(xml.len() + xml.len() / 4);
    let mut moved_to = 0;
    let rest = rows(xml, &mut to, &mut |row, to| {
        let moves = additions.moves();
        if moves && additions.is_dropped(row.number) {
            return;
        }
        let own = additions.of_row(row.number);
        if own.is_empty() {
            moved_to = if moves { moved_to + 1 } else { row.number };
            write(row, moved_to, moves, None, additions, to);
        }
        for index in own {
            moved_to = if moves { moved_to + 1 } else { row.number };
            write(row, moved_to, moves, Some(index), additions, to);
        }
    })?;
    to.push_str(rest);
    Ok(to)
}

/// Calls `each` for every row. Writes what is before the rows, and returns what is after them.
fn rows<'a>(
    xml: &'a str,
    to: &mut String,
    each: &mut dyn FnMut(&Row<'a>, &mut String),
) -> Result<&'a str, Unreadable> {
    let mut reader = Reader::from_str(xml);
    let (mut row, mut cell) = (None::<Row<'a>>, None::<(Cell<'a>, usize, usize)>);
    let (mut number, mut formula) = (0, None);
    loop {
        let start = place(&reader);
        let event = reader.read_event().map_err(|_| Unreadable::Damaged)?;
        let end = place(&reader);
        match event {
            Event::Start(tag) => match tag.local_name().into_inner() {
                "sheetData" => to.push_str(part(xml, 0..end)),
                "row" => row = Some(row_of(&tag, xml, start, &mut number)),
                "c" => {
                    let column = row.as_ref().map_or(0, Row::next_column);
                    cell = Some((cell_of(&tag, column), start, end));
                }
                "f" if cell.is_some() => formula = Some(start),
                _ => {}
            },
            Event::Empty(tag) => match (tag.local_name().into_inner(), &mut row, &mut cell) {
                ("row", ..) => each(&row_of(&tag, xml, start, &mut number), to),
                ("c", Some(row), _) => {
                    let mut empty = cell_of(&tag, row.next_column());
                    empty.raw = part(xml, start..end);
                    row.cells.push(empty);
                }
                ("f", _, Some((cell, _, content))) => {
                    cell.content.push_str(part(xml, *content..start));
                    *content = end;
                }
                ("sheetData", ..) => return Ok(xml),
                _ => {}
            },
            Event::End(tag) => match tag.local_name().into_inner() {
                "f" => {
                    if let (Some((cell, _, content)), Some(from)) = (&mut cell, formula.take()) {
                        cell.content.push_str(part(xml, *content..from));
                        *content = end;
                    }
                }
                "c" => {
                    if let (Some((mut cell, from, content)), Some(row)) = (cell.take(), &mut row) {
                        cell.content.push_str(part(xml, content..start));
                        cell.raw = part(xml, from..end);
                        row.cells.push(cell);
                    }
                }
                "row" => row.take().iter().for_each(|row| each(row, to)),
                "sheetData" => return Ok(part(xml, start..xml.len())),
                _ => {}
            },
            Event::Eof => return Err(Unreadable::Damaged),
            _ => {}
        }
    }
}

fn place(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

fn part(xml: &str, range: Range<usize>) -> &str {
    xml.get(range).unwrap_or_default()
}

impl Row<'_> {
    fn next_column(&self) -> u32 {
        self.cells.last().map_or(0, |cell| cell.column + 1)
    }
}

fn row_of<'a>(tag: &BytesStart<'_>, xml: &'a str, start: usize, last: &mut u32) -> Row<'a> {
    let own = attribute(tag, "r").and_then(|number| number.parse().ok());
    *last = own.unwrap_or(*last + 1);
    let prefix = tag.name().into_inner().len() - "row".len();
    let prefix = part(xml, start + 1..start + 1 + prefix);
    Row { number: *last, attributes: others(tag), prefix, cells: Vec::new() }
}

fn cell_of<'a>(tag: &BytesStart<'_>, next: u32) -> Cell<'a> {
    let column = attribute(tag, "r").and_then(|place| column(&place)).unwrap_or(next);
    Cell { column, raw: "", attributes: others(tag), content: String::new() }
}

pub(crate) fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.attributes().flatten();
    let found = attributes.find(|it| it.key.local_name().into_inner() == name)?;
    found.normalized_value(XmlVersion::Explicit1_0).ok().map(std::borrow::Cow::into_owned)
}

fn others(tag: &BytesStart<'_>) -> String {
    let attributes = tag.attributes().flatten();
    let others = attributes.filter(|it| !["r", "spans"].contains(&it.key.into_inner()));
    others.map(|it| format!(" {}=\"{}\"", it.key.into_inner(), it.value)).collect()
}

fn column(place: &str) -> Option<u32> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase);
    let number = letters.fold(0_u32, |number, letter| {
        number.saturating_mul(26).saturating_add(u32::from(letter - b'A') + 1)
    });
    number.checked_sub(1)
}

fn letters(column: u32) -> String {
    let mut left = column + 1;
    let mut letters = Vec::new();
    while left > 0 {
        let letter = u8::try_from((left - 1) % 26).unwrap_or_default();
        letters.insert(0, char::from(b'A' + letter));
        left = (left - 1) / 26;
    }
    letters.into_iter().collect()
}

fn write(
    row: &Row<'_>,
    number: u32,
    moves: bool,
    addition: Option<usize>,
    additions: &Additions,
    to: &mut String,
) {
    let Row { attributes, prefix, .. } = row;
    let alone = addition.and_then(|at| additions.alone.get(at)).filter(|it| !it.is_empty());
    let mut cells: Vec<(u32, String)> = Vec::new();
    for cell in &row.cells {
        let is_replaced = addition.is_some() && additions.columns.contains(&cell.column)
            || alone.is_some() && cell.column == additions.address;
        if is_replaced {
            continue;
        }
        let place = format!("{}{number}", letters(cell.column));
        let written = match (moves, &*cell.content) {
            (false, _) => cell.raw.to_owned(),
            (true, "") => format!("<{prefix}c r=\"{place}\"{}/>", cell.attributes),
            (true, content) => {
                format!("<{prefix}c r=\"{place}\"{}>{content}</{prefix}c>", cell.attributes)
            }
        };
        cells.push((cell.column, written));
    }
    let mut add = |column: u32, text: &str| {
        if !text.is_empty() {
            let place = format!("{}{number}", letters(column));
            let text: String =
                text.chars().filter(|c| *c >= ' ' || "\t\n\r".contains(*c)).collect();
            let text = escape(&*text);
            let is = format!(
                "<{prefix}is><{prefix}t xml:space=\"preserve\">{text}</{prefix}t></{prefix}is>"
            );
            let cell = format!("<{prefix}c r=\"{place}\" t=\"inlineStr\">{is}</{prefix}c>");
            cells.push((column, cell));
        }
    };
    if let Some(alone) = alone {
        add(additions.address, alone);
    }
    if let Some(values) = addition.map(|at| additions.values_of(at)) {
        for (column, value) in additions.columns.iter().zip(values) {
            add(*column, value);
        }
    }
    cells.sort_by_key(|(column, _)| *column);
    to.push_str(&format!("<{prefix}row r=\"{number}\"{attributes}>"));
    cells.iter().for_each(|(_, cell)| to.push_str(cell));
    to.push_str(&format!("</{prefix}row>"));
}
