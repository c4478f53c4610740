import type { Key } from "node:readline";
import type { CursorTarget } from "./draft.ts";

/** What a key means while a text is written. */
export type Intent =
  | { readonly case: "insert"; readonly text: string }
  | { readonly case: "move"; readonly to: CursorTarget }
  | { readonly case: "delete"; readonly to: CursorTarget }
  | { readonly case: Command };

/** Keys that do more than edit. */
type Command =
  | "submit"
  | "steer"
  | "newline"
  | "up"
  | "down"
  | "escape"
  | "escape twice"
  | "complete"
  | "next mode"
  | "search"
  | "show all"
  | "editor"
  | "leave";

/** Returns what a key means; undefined for a key that means nothing. */
export function intentOf(text: string, key: Key): Intent | undefined {
  // Node reads it as an Alt key, and two that follow closely as one.
  if (key.name === "escape") {
    const isTwice = key.sequence === "\u001b\u001b";
    return { case: isTwice ? "escape twice" : "escape" };
  }
  if (key.ctrl) return CONTROL.get(key.name ?? "");
  if (key.meta) return ALT.get(key.name ?? "");
  const named = NAMED.get(
    key.shift && key.name === "tab" ? "shift-tab" : (key.name ?? ""),
  );
  if (named) return named;
  return text !== "" && !/\p{Cc}/u.test(text)
    ? { case: "insert", text }
    : undefined;
}

const NAMED: ReadonlyMap<string, Intent> = new Map<string, Intent>([
  ["return", { case: "submit" }],
  // Ctrl-J, and Shift-Enter where the terminal is set up to send it.
  ["enter", { case: "newline" }],
  ["tab", { case: "complete" }],
  ["shift-tab", { case: "next mode" }],
  ["up", { case: "up" }],
  ["down", { case: "down" }],
  ["left", { case: "move", to: "character before" }],
  ["right", { case: "move", to: "character after" }],
  ["home", { case: "move", to: "line start" }],
  ["end", { case: "move", to: "line end" }],
  ["backspace", { case: "delete", to: "character before" }],
  ["delete", { case: "delete", to: "character after" }],
]);

const CONTROL: ReadonlyMap<string, Intent> = new Map<string, Intent>([
  ["a", { case: "move", to: "line start" }],
  ["b", { case: "move", to: "character before" }],
  ["d", { case: "leave" }],
  ["e", { case: "move", to: "line end" }],
  ["f", { case: "move", to: "character after" }],
  ["g", { case: "editor" }],
  ["h", { case: "delete", to: "character before" }],
  ["k", { case: "delete", to: "line end" }],
  ["n", { case: "down" }],
  ["o", { case: "show all" }],
  ["p", { case: "up" }],
  ["r", { case: "search" }],
  ["t", { case: "steer" }],
  ["u", { case: "delete", to: "line start" }],
  ["w", { case: "delete", to: "word before" }],
  ["left", { case: "move", to: "word before" }],
  ["right", { case: "move", to: "word after" }],
]);

const ALT: ReadonlyMap<string, Intent> = new Map<string, Intent>([
  ["return", { case: "newline" }],
  ["b", { case: "move", to: "word before" }],
  ["f", { case: "move", to: "word after" }],
  ["d", { case: "delete", to: "word after" }],
  ["backspace", { case: "delete", to: "word before" }],
  ["left", { case: "move", to: "word before" }],
  ["right", { case: "move", to: "word after" }],
]);
