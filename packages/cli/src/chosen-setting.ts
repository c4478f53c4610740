import { oneLine } from "@devtool/internal/visible-text";
import type { ListedAgent } from "@devtool/schema";

/** The settings that users choose in a chat, by the names of their fields. */
export type ChosenSetting = "approval_mode" | "fork_before_message" | "model";

const WORDS: Readonly<Record<ChosenSetting, string>> = {
  approval_mode: "approval mode",
  fork_before_message: "message to go on from",
  model: "model",
};

/**
 * Returns why users cannot choose a setting of an agent; empty if they can, or
 * if that is not known.
 *
 * @param agent its name; empty for the server's first
 * @param agents those of the server, as far as they are known
 */
export function refusalOf(
  setting: ChosenSetting,
  agent: string,
  agents: readonly ListedAgent[],
): string {
  // A server with one agent lists it without its name.
  const found =
    agents.find(({ name }) => name === agent) ??
    (agent === "" || agents.length === 1 ? agents[0] : undefined);
  if (!found?.follows || found.follows.settings.includes(setting)) return "";
  const name = JSON.stringify(oneLine(found.name || found.displayName));
  return `agent ${name} does not let its users choose the ${WORDS[setting]}`;
}
