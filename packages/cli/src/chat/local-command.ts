import { oneLine } from "@devtool/internal/visible-text";
import type { SlashCommand } from "@devtool/schema";
import type { ChosenSetting } from "../chosen-setting.ts";
import type { ChatChoices } from "./chat-choices.ts";

/** A slash command that the terminal runs itself. */
type LocalCommand = (typeof LOCAL_COMMANDS)[number]["name"];

/** The commands of the terminal, as `/help` lists them. */
export const LOCAL_COMMANDS = [
  {
    name: "model",
    argument: "[name]",
    what: "lists the models, or chooses one for the next messages",
  },
  {
    name: "mode",
    argument: "[name]",
    what: "shows or changes the approval mode: default, plan, auto-edit, yolo",
  },
  { name: "new", argument: "", what: "begins a new conversation" },
  {
    name: "clear",
    argument: "",
    what: "clears the screen and begins a new conversation",
  },
  {
    name: "sessions",
    argument: "",
    what: "lists earlier conversations, to continue one",
  },
  {
    name: "resume",
    argument: "[id]",
    what: "continues an earlier conversation",
  },
  {
    name: "rewind",
    argument: "[number]",
    what: "goes on from before an earlier message, in a new conversation",
  },
  {
    name: "copy",
    argument: "",
    what: "copies the agent's last answer to the clipboard",
  },
  {
    name: "export",
    argument: "[file]",
    what: "writes the conversation to a Markdown file",
  },
  { name: "help", argument: "", what: "lists keys and commands" },
  { name: "quit", argument: "", what: "leaves the chat; so does /exit" },
  { name: "exit", argument: "", what: "" },
] as const;

/** A line that is a command of the terminal. */
export interface LocalLine {
  readonly name: LocalCommand;
  /** The words behind the name. */
  readonly argument: string;
}

/**
 * Reads a line that is a command of the terminal; undefined for another line.
 */
export function readLocalCommand(line: string): LocalLine | undefined {
  const [, word = "", argument = ""] = /^\/(\S+)\s*(.*)$/.exec(line) ?? [];
  const found = LOCAL_COMMANDS.find(({ name }) => name === word);
  return found && { name: found.name, argument: argument.trim() };
}

/** The settings of the agent that commands and keys of the terminal change. */
const SETTINGS: ReadonlyMap<string, ChosenSetting> = new Map([
  ["model", "model"],
  ["mode", "approval_mode"],
  ["rewind", "fork_before_message"],
  ["Esc Esc", "fork_before_message"],
  ["Shift-Tab", "approval_mode"],
]);

/** Whether the user may choose settings of the agent. */
export type Choosing = Pick<ChatChoices, "refusalOf">;

/**
 * Returns why a command or a key of the terminal is not offered for the agent;
 * empty if it is.
 */
export function commandRefusal(name: string, choices: Choosing): string {
  const setting = SETTINGS.get(name);
  return setting === undefined ? "" : choices.refusalOf(setting);
}

/** The keys, as `/help` lists them. */
const KEYS = [
  ["Enter", "sends; while the agent works, queues for after the turn"],
  ["Ctrl-T", "sends into the running turn, before its next step"],
  ["Alt-Enter, Ctrl-J, \\ Enter", "begins a new line"],
  [
    "Esc, Ctrl-C",
    "interrupts the agent; Ctrl-C empties the line first, and leaves between turns",
  ],
  ["Esc Esc", "between turns: goes on from before an earlier message"],
  ["Up, Down", "earlier messages; Up takes a queued message back"],
  ["Ctrl-R", "searches earlier messages"],
  ["Tab", "completes /commands, names of models and modes, and @files"],
  ["Shift-Tab", "changes the approval mode"],
  ["Ctrl-O", "shows the latest folded output in full"],
  ["Ctrl-G", "opens the message in $EDITOR"],
  ["@path", "attaches a file or an image of the workspace"],
  ["!command", "runs a shell command, after asking, as /shell does"],
] as const;

/**
 * Returns the keys, the commands of the terminal and those of the server in one
 * list. A command of the terminal hides one of the same name.
 */
export function helpLines(
  known: readonly SlashCommand[],
  choices: Choosing,
): string[] {
  const own = LOCAL_COMMANDS.map(({ name }): string => name);
  const rows = [
    ...KEYS.map(
      ([key, what]) => [key, commandRefusal(key, choices) || what] as const,
    ),
    ...LOCAL_COMMANDS.filter(({ what }) => what !== "").map(
      ({ name, argument, what }) =>
        [
          `/${name} ${argument}`.trim(),
          commandRefusal(name, choices) || what,
        ] as const,
    ),
    ...known
      .filter(({ name }) => !own.includes(name))
      .map(
        ({ name, description }) =>
          [`/${oneLine(name)}`, oneLine(description)] as const,
      ),
  ];
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
