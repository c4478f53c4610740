import type { ListedModel } from "@devtool/schema/operator";
import { shortCount } from "./count.ts";
import { visibleName } from "./style.ts";

/** Returns a line for each model: its name, its title and its size. */
export function modelLines(models: readonly ListedModel[]): string[] {
  const width = Math.max(...models.map(({ name }) => name.length));
  return models.map(({ name, displayName, contextWindowTokens: size }) => {
    const more = [
      displayName,
      size > 0n ? `${shortCount(size)} tokens` : "",
    ].filter((part) => part !== "");
    return visibleName(`${name.padEnd(width)}  ${more.join(" · ")}`).trimEnd();
  });
}
