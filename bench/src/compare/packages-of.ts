/**
 * Imported before a bench, takes the packages that it imports from the
 * repository that `DEVTOOL_BENCH_TREE` names: the same work is done by the code
 * of another commit.
 */
import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../subject.ts";

const own = pathToFileURL(join(ROOT, "bench/")).href;
const theirs = pathToFileURL(
  join(process.env.DEVTOOL_BENCH_TREE ?? ROOT, "bench/package.json"),
).href;

registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier,
      specifier.startsWith("@") && context.parentURL?.startsWith(own)
        ? { ...context, parentURL: theirs }
        : context,
    ),
});
