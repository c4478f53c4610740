import { basename } from "node:path";
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { keepEnd } from "@devtool/internal/cut-text";
import {
  defined,
  isObject,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { commandLine } from "@devtool/internal/shell-line";
import { unshownArguments } from "@devtool/internal/unshown-arguments";
import { oneLine, visibleText } from "@devtool/internal/visible-text";
import {
  type ConfirmationRequest,
  ExecuteDetailsSchema,
  type FileDiff,
  FileDiffSchema,
  GenericDetailsSchema,
  McpDetailsSchema,
  structFromJson,
  type ToolCall,
  ToolCallSchema,
  type ToolOutput,
} from "@devtool/schema";
import { pathText, unifiedDiff } from "./change-text.ts";
import { blockOf, isUsableBlock, textOfBlock } from "./content.ts";
import { wordsOf } from "./form-field.ts";

/**
 * The maximum length of a call's live content and output, in characters; the
 * beginning is cut off.
 */
const MAX_OUTPUT_LENGTH = 256 * 1024;
/** The arguments in which agents give a command line. */
const LINES = ["command", "cmd", "script", "commandLine", "command_line"];
/** The arguments in which agents give a command's directory. */
const DIRECTORIES = ["cwd", "workdir", "dir_path", "directory"];
/** The kinds of calls that change files. */
const CHANGES: ReadonlySet<string> = new Set(["edit", "delete", "move"]);

/**
 * Returns the output so far of a terminal of the client, by its id; undefined
 * for an unknown one.
 */
export type TerminalOutput = (terminalId: string) => string | undefined;

/** A call as the agent has described it so far, in pieces. */
export class DescribedCall {
  /** The id of the call in our task. */
  id: string;
  #title = "";
  #name = "";
  #kind = "";
  #input: JsonValue | undefined;
  #content: readonly JsonValue[] = [];
  #locations: readonly string[] = [];
  #output: JsonValue | undefined;
  #meta: JsonObject = {};
  /**
   * The output so far of a terminal of the agent's own, which has no field in
   * the protocol.
   */
  #streamed = "";
  readonly #terminalOutput: TerminalOutput;

  constructor(id: string, terminalOutput: TerminalOutput) {
    this.id = id;
    this.#terminalOutput = terminalOutput;
  }

  /** Takes what a piece of the call says; what it leaves out stays. */
  take(piece: JsonObject): void {
    this.#title = wordsOf(piece.title) || this.#title;
    this.#name = wordsOf(piece.name) || this.#name;
    this.#kind = stringOrEmpty(piece.kind) || this.#kind;
    this.#input = piece.rawInput ?? this.#input;
    this.#output = piece.rawOutput ?? this.#output;
    if (piece.content) this.#content = [piece.content].flat();
    if (piece.locations) {
      this.#locations = [piece.locations]
        .flat()
        .flatMap(
          (location) => wordsOf(objectOrEmpty(location).path ?? location) || [],
        );
    }
    this.#meta = { ...this.#meta, ...objectOrEmpty(piece._meta) };
  }

  /**
   * Takes what the agent's own terminal has printed since the last update, from
   * the `_meta` of an update.
   */
  appendOutput({ _meta }: JsonObject): void {
    const { terminal_output_delta, terminal_output } = objectOrEmpty(_meta);
    const { data } = objectOrEmpty(terminal_output_delta ?? terminal_output);
    this.#streamed = tail(this.#streamed + stringOrEmpty(data));
  }

  /** The call as a call of our task. */
  get call(): ToolCall {
    const inputParameters = structFromJson(this.input);
    const { id: toolCallId, toolName, description } = this;
    return create(ToolCallSchema, {
      toolCallId,
      toolName,
      description,
      inputParameters,
    });
  }

  get title(): string {
    return this.#title;
  }

  get toolName(): string {
    const ofClaude = stringOrEmpty(
      objectOrEmpty(this.#meta.claudeCode).toolName,
    );
    return this.#name || ofClaude || this.#kind || "other";
  }

  /**
   * What kind of call it is; `edit` whenever it shows changes of files, and
   * else `execute` whenever its arguments have a command line.
   */
  get kind(): string {
    if (this.diffs.length > 0) return "edit";
    return this.#commands.length > 0 ? "execute" : this.#kind || "other";
  }

  /**
   * The arguments of the call. Arguments that are not an object are wrapped in
   * one, as its field `value`.
   */
  get input(): JsonObject {
    if (this.#input === undefined || this.#input === null) return {};
    return isObject(this.#input) ? this.#input : { value: this.#input };
  }

  get paths(): readonly string[] {
    return [
      ...new Set([
        ...this.#locations,
        ...this.diffs.map(({ filePath }) => filePath),
      ]),
    ];
  }

  /** The changes of files that the call makes. */
  get diffs(): FileDiff[] {
    return this.#content.filter(isObject).flatMap((item) => {
      if (!isDiff(item)) return [];
      const { path, oldText, newText } = item;
      const change = defined({
        filePath: path,
        newContent: newText,
        oldContent: typeof oldText === "string" ? oldText : undefined,
      });
      return [
        create(FileDiffSchema, {
          ...change,
          fileName: basename(path),
          formattedDiff: unifiedDiff(change),
        }),
      ];
    });
  }

  /**
   * A line about the call in the agent's words; for a command with deceptive
   * characters, the command, with these escaped.
   */
  get description(): string {
    const command = this.kind === "execute" ? this.#command : "";
    return visibleText(command) === command
      ? oneLine(this.#title)
      : `Run ${oneLine(command)}`;
  }

  /**
   * The content as text and the output of the client's terminals, or else what
   * a terminal of the agent's own printed.
   */
  get text(): string {
    const texts = this.#content.map((each) => {
      const item = objectOrEmpty(each);
      if (item.type === "terminal") {
        return this.#terminalOutput(stringOrEmpty(item.terminalId)) ?? "";
      }
      if (isDiff(item)) return "";
      const block = blockOf(item.type === "content" ? item.content : each);
      // What cannot be shown as a block is shown as it is.
      return isUsableBlock(block) ? textOfBlock(block) : wordsOf(each);
    });
    return (
      tail(texts.filter((text) => text !== "").join("\n")) || this.#streamed
    );
  }

  /** The exit code of its command; undefined if the agent names none. */
  get exitCode(): number | undefined {
    const { exitCode, exit_code } = objectOrEmpty(this.#output);
    const code =
      exitCode ??
      exit_code ??
      objectOrEmpty(this.#meta.terminal_exit).exit_code;
    return typeof code === "number" && Number.isInteger(code)
      ? code | 0
      : undefined;
  }

  /** The result of the call once it has succeeded. */
  get result(): ToolOutput["result"] {
    const { diffs } = this;
    const [diff, ...further] = diffs;
    if (diff && further.length === 0) return { case: "diff", value: diff };
    const text = tail(
      [diffs.map(unifiedDiff).join(""), this.text]
        .filter((part) => part !== "")
        .join("\n"),
    );
    if (text !== "") return { case: "text", value: text };
    if (isObject(this.#output)) {
      return { case: "structuredData", value: structFromJson(this.#output) };
    }
    if (this.#output === undefined || this.#output === null) {
      return { case: undefined };
    }
    const value =
      typeof this.#output === "string"
        ? this.#output
        : JSON.stringify(this.#output);
    return { case: "text", value: tail(value) };
  }

  /**
   * What the user is asked to approve: a command, a change of a file, a call of
   * an MCP server, or words.
   */
  get details(): ConfirmationRequest["details"] {
    const [diff, ...further] = this.diffs;
    const places = this.#otherPlaces;
    const isOne =
      further.length === 0 && places.length === 0 && this.text === "";
    const runs = this.#kind === "execute" || this.#commands.length > 0;
    if (diff && isOne && !runs) {
      return { case: "fileEditDetails", value: diff };
    }
    if (diff) {
      return this.#titled([
        ...(runs ? [`Runs: ${this.#command}`, this.#argumentsText] : []),
        ...places,
        [diff, ...further].map(unifiedDiff).join(""),
        this.text,
      ]);
    }
    const [, serverName, toolName] =
      /^mcp__(.+?)__(.+)$/.exec(this.toolName) ?? [];
    if (
      serverName !== undefined &&
      toolName !== undefined &&
      this.#kind !== "execute"
    ) {
      return {
        case: "mcpDetails",
        value: create(McpDetailsSchema, { serverName, toolName }),
      };
    }
    if (this.kind === "execute" && !this.#hidesArguments) {
      return this.#execution(this.#command);
    }
    return this.#titled([...places, this.#argumentsText, this.text]);
  }

  /**
   * What rules decide about, the strictest of which counts: each command line
   * of the call, and all else that is in it.
   */
  get claims(): ConfirmationRequest["details"][] {
    const { details, input } = this;
    const isCommand = details.case === "executeDetails";
    if (
      isCommand &&
      Object.keys(unshownArguments(input, details.value)).length === 0
    ) {
      return [details];
    }
    return [
      ...this.#commands.map((line) => this.#execution(line)),
      ...(isCommand
        ? [details, genericDetails([this.#title, this.#argumentsText])]
        : [details]),
    ];
  }

  /** Whether the call shows a terminal. */
  showsTerminal(terminalId: string): boolean {
    return this.#content.some(
      (item) => isObject(item) && item.terminalId === terminalId,
    );
  }

  #execution(
    command: string,
  ): Extract<ConfirmationRequest["details"], { case: "executeDetails" }> {
    const input = objectOrEmpty(this.#input);
    const [workingDirectory] = DIRECTORIES.flatMap(
      (name) => stringOrEmpty(input[name]) || [],
    );
    const value = create(
      ExecuteDetailsSchema,
      defined({ command, workingDirectory }),
    );
    return { case: "executeDetails", value };
  }

  /**
   * Returns what the call does in words, with its title. A title of many lines
   * stands last: the middle of a long question is left out where it is shown.
   */
  #titled(parts: readonly string[]): ConfirmationRequest["details"] {
    const isLong = this.#title.includes("\n");
    return genericDetails(
      isLong ? [...parts, this.#title] : [this.#title, ...parts],
    );
  }

  /** The files that the call changes and shows no change of, a line each. */
  get #otherPlaces(): string[] {
    if (!CHANGES.has(this.kind)) return [];
    const shown = this.diffs.map(({ filePath }) => filePath);
    return this.#locations
      .filter(
        (path) =>
          !shown.some((file) => file === path || file.endsWith(`/${path}`)),
      )
      .map(pathText);
  }

  get #argumentsText(): string {
    const { input } = this;
    return Object.keys(input).length === 0
      ? ""
      : `With the arguments: ${JSON.stringify(input, undefined, 2)}`;
  }

  /** The command line that the arguments have; else the title. */
  get #command(): string {
    return this.#commandLine || this.#title;
  }

  get #commandLine(): string {
    const lines = this.#commandLines;
    return lines.find(isLine) ?? lines[0] ?? "";
  }

  /** The different command lines that the arguments have. */
  get #commandLines(): string[] {
    const { args, ...input } = objectOrEmpty(this.#input);
    const named = LINES.map((name) => input[name]).filter(Boolean);
    const lines = named.length === 0 ? [undefined] : named;
    return [...new Set(lines.map((line) => commandLine(line, args)))].filter(
      (line) => line !== "",
    );
  }

  /**
   * The command lines that the call runs. A mere word is none unless the agent
   * says so: tools that edit files call what they do a command, such as `view`.
   */
  get #commands(): string[] {
    return this.#kind === "execute"
      ? this.#commandLines
      : this.#commandLines.filter(isLine);
  }

  /** Whether a call that runs a command has other arguments in its place. */
  get #hidesArguments(): boolean {
    const { cwd: _, description: __, ...others } = this.input;
    return this.#commandLine === "" && Object.keys(others).length > 0;
  }
}

/** Whether an item of a call's content is a change of a file. */
function isDiff(
  item: JsonObject,
): item is JsonObject & { path: string; newText: string } {
  return (
    item.type === "diff" &&
    typeof item.path === "string" &&
    typeof item.newText === "string" &&
    typeof (item.oldText ?? "") === "string"
  );
}

function isLine(text: string): boolean {
  return !/^\w*$/.test(text);
}

function genericDetails(
  parts: readonly string[],
): ConfirmationRequest["details"] {
  const description = visibleText(
    parts.filter((part) => part !== "").join("\n"),
  );
  return {
    case: "genericDetails",
    value: create(GenericDetailsSchema, { description }),
  };
}

function tail(text: string): string {
  if (text.length <= MAX_OUTPUT_LENGTH) return text;
  const note = "[the beginning was cut off]\n";
  return note + keepEnd(text, MAX_OUTPUT_LENGTH - note.length);
}
