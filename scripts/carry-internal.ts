/**
 * Gives a library, in whose directory it runs, the modules of
 * `@devtool/internal` that it uses: copies those that its built files name to
 * `dist/internal`, and names them there. The package is not published.
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

const OURS = /"@devtool\/internal\/([\w-]+)"/g;
const BESIDE = /"\.\/([\w-]+)\.js"/g;
const carried = new Set<string>();

/** Copies a module with those that it imports; `kind`: `.js` or `.d.ts`. */
function carry(name: string, kind: string): void {
  const file = `${name}${kind}`;
  if (carried.has(file)) return;
  carried.add(file);
  const text = readFileSync(`../internal/dist/${file}`, "utf8");
  mkdirSync("dist/internal", { recursive: true });
  writeFileSync(`dist/internal/${file}`, text);
  for (const [, other = ""] of text.matchAll(BESIDE)) carry(other, kind);
}

for (const path of globSync("dist/**/*.{js,d.ts}")) {
  const text = readFileSync(path, "utf8");
  const kind = path.endsWith(".d.ts") ? ".d.ts" : ".js";
  const changed = text.replace(OURS, (_, name: string) => {
    carry(name, kind);
    const way = relative(dirname(resolve(path)), resolve("dist/internal"));
    return `"${way.startsWith(".") ? way : `./${way}`}/${name}.js"`;
  });
  if (changed !== text) writeFileSync(path, changed);
}
