import type { SlashCommand } from "../slash-command.ts";
import { saying } from "../steps.ts";

/** `/about`: what this server is. */
export function aboutCommand(about: { readonly version: string; readonly model: string }): SlashCommand {
  return {
    path: ["about"],
    description: "Shows the version of this server and its model",
    arguments: [],
    play: () => saying(() => `devtool ${about.version}\nmodel: ${about.model}\nnode: ${process.version}`),
  };
}
