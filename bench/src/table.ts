import type { Figures } from "./measure.ts";

/** One column of figures. */
export interface Column {
  readonly title: string;
  readonly figures: Figures;
}

/** Prints our figures beside those of others, and ours divided by theirs. */
export function printTable(ours: Column, others: readonly Column[]): void {
  const ratios = others.map(({ title }) => `ours / ${title.split(" ", 1)[0]}`);
  printRow([
    "figure",
    ours.title,
    ...others.map(({ title }) => title),
    ...ratios,
  ]);
  printRow(Array.from({ length: 2 + 2 * others.length }, () => "---"));
  for (const [name, value] of ours.figures) {
    const theirs = others.map(({ figures }) => figures.get(name));
    const divided = theirs.map((other) =>
      other === undefined ? "-" : (value / other).toFixed(2),
    );
    printRow([name, shown(value), ...theirs.map(shown), ...divided]);
  }
}

function printRow(cells: readonly string[]): void {
  console.log(`| ${cells.join(" | ")} |`);
}

function shown(value: number | undefined): string {
  if (value === undefined) return "-";
  return value >= 1000
    ? Math.round(value).toLocaleString("en")
    : value.toPrecision(value < 100 ? 3 : 4);
}
