import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { git } from "../../scripts/earlier-commit.ts";
import type { Figures } from "./measure.ts";
import { ROOT } from "./subject.ts";

/** One column of figures. */
export interface Column {
  readonly title: string;
  readonly figures: Figures;
}

/**
 * Our figures, the first column, beside those of others, and ours divided by
 * theirs: Markdown.
 */
export function tableOf([
  ours,
  ...others
]: readonly Column[]): readonly string[] {
  if (!ours) return [];
  const ratios = others.map(({ title }) => `ours / ${title.split(" ", 1)[0]}`);
  const titles = others.map(({ title }) => title);
  const rows = [...ours.figures].map(([name, value]) => {
    const theirs = others.map(({ figures }) => figures.get(name));
    const divided = theirs.map((other) =>
      other === undefined ? "-" : (value / other).toFixed(2),
    );
    return rowOf([name, shown(value), ...theirs.map(shown), ...divided]);
  });
  return [
    rowOf(["figure", ours.title, ...titles, ...ratios]),
    rowOf(Array.from({ length: 2 + 2 * others.length }, () => "---")),
    ...rows,
  ];
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

const README = join(ROOT, "bench/README.md");
const TABLES = /(<!-- table (\S+) -->\n)([\s\S]*?)(\n<!-- end -->)/g;

/** Puts a table into bench/README.md, in place of the one of that name. */
export function writeTable(name: string, table: string): void {
  writeFileSync(
    README,
    readFileSync(README, "utf8").replace(
      TABLES,
      (whole, begin: string, named: string, _old: string, end: string) =>
        named === name ? `${begin}\n${table}\n${end}` : whole,
    ),
  );
}

/**
 * A sentence for each table of bench/README.md that is older than the product.
 */
export function staleTables(): readonly string[] {
  const tables = [...readFileSync(README, "utf8").matchAll(TABLES)];
  return tables.flatMap(([, , name = "", table = ""]) => {
    const [, commit] = /^Commit `([0-9a-f]+)`/m.exec(table) ?? [];
    if (commit === undefined) return [`table "${name}" is not measured`];
    const range = `${commit}..HEAD`;
    const changes = git("rev-list", "--count", range, "--", ...PRODUCT);
    return changes === "0"
      ? []
      : [
          `table "${name}" is of ${commit}: ${changes ?? "unknown"} commits changed the product since`,
        ];
  });
}

/** What the tables measure. */
const PRODUCT = ["packages", "proto", "pnpm-lock.yaml"];

function shown(value: number | undefined): string {
  if (value === undefined) return "-";
  return value >= 1000
    ? Math.round(value).toLocaleString("en")
    : value.toPrecision(value < 100 ? 3 : 4);
}
