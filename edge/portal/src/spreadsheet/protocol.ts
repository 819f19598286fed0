// Messages between the page and its worker for spreadsheets.
export type Answer = { rows: string[][] } | { refused: "too-large" | "spreadsheet" };
