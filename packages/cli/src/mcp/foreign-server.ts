import { randomUUID } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { hasSecretWord, looksSecret } from "@devtool/mcp/operator";
import { decodeStrictJson, McpServerSchema } from "@devtool/schema";
import type { ForeignFile } from "./foreign-file.ts";
import type { Variables } from "./variables.ts";

/** A server of another program's settings, for `config.toml`. */
interface ImportedServer {
  /** In the names of `config.toml`. */
  readonly server: JsonObject;
  /** The settings of it that have nothing to match here. */
  readonly unused: readonly string[];
}

/** The settings that are read, in the spellings of all programs. */
const READ: ReadonlySet<string> = new Set([
  "type",
  "command",
  "args",
  "env",
  "env_vars",
  "cwd",
  "url",
  "httpUrl",
  "headers",
  "http_headers",
  "env_http_headers",
  "bearer_token_env_var",
  "includeTools",
  "enabled_tools",
  "excludeTools",
  "disabled_tools",
  "timeout",
  "tool_timeout_sec",
  "enabled",
  "disabled",
]);

/** Settings whose absence changes nothing here. */
const NO_LOSS: ReadonlySet<string> = new Set([
  "description",
  "gallery",
  "version",
]);

/**
 * Returns a server of another program as `config.toml` has it. Its variables,
 * and what looks like a secret in it, are added to `variables`.
 *
 * Throws for a server that cannot be used here, with the reason.
 */
export function importServer(
  name: string,
  entry: JsonValue,
  file: ForeignFile,
  variables: Variables,
): ImportedServer {
  if (!isObject(entry)) throw new Error("it is not an object");
  if (
    entry.disabled === true ||
    entry.enabled === false ||
    file.isSwitchedOff(name)
  ) {
    throw new Error("it is switched off there");
  }
  const value = new ValueReader(name, file, variables);
  const server = defined({
    name,
    ...readTransport(entry, value),
    include_tools: entry.includeTools ?? entry.enabled_tools,
    exclude_tools: entry.excludeTools ?? entry.disabled_tools,
    call_timeout: readTimeout(entry),
  });
  decodeStrictJson(McpServerSchema, server, "", { spelling: "name" });
  const unused = Object.keys(entry).filter(
    (field) => !READ.has(field) && !NO_LOSS.has(field),
  );
  return { server, unused };
}

function readTransport(entry: JsonObject, value: ValueReader): JsonObject {
  const { type, command, httpUrl } = entry;
  const url = httpUrl ?? entry.url;
  if (typeof command === "string") {
    return { stdio: readStdio(command, entry, value) };
  }
  if (typeof url !== "string") throw new Error("it has no command and no url");
  const kind =
    httpUrl === undefined ? transportKind(type, url) : ("http" as const);
  return {
    [kind]: defined({
      url: value.url(url),
      headers: unlessEmpty(readHeaders(entry, value)),
    }),
  };
}

/**
 * Returns the transport of an address. Without a type it is Streamable HTTP, as
 * other programs try that first.
 */
function transportKind(
  type: JsonValue | undefined,
  url: string,
): "http" | "sse" {
  if (type === "http" || type === "streamable-http") return "http";
  if (type === "sse") return "sse";
  if (type !== undefined) {
    throw new Error(`its type ${JSON.stringify(type)} is not http or sse`);
  }
  return /\/sse\/?$/.test(url) ? "sse" : "http";
}

function readStdio(
  command: string,
  { args, cwd, env, env_vars: passed }: JsonObject,
  value: ValueReader,
): JsonObject {
  const given = listOrEmpty(args);
  const scriptAt = SHELL.test(command)
    ? given.findIndex((word) => SCRIPT_OPTION.test(String(word))) + 1
    : 0;
  const script =
    scriptAt > 0 ? value.script("args", given[scriptAt] ?? "") : undefined;
  const words = given.map((word, at) =>
    script && at === scriptAt ? script.text : value.plain("args", word),
  );
  if (hasSecretWord(words)) {
    throw new Error(
      "its args hold what looks like a secret: give it to the server in env",
    );
  }
  const names = listOrEmpty(passed).map(variableName);
  return defined({
    command: value.plain("command", command),
    args: words.length > 0 ? words : undefined,
    working_directory: cwd === undefined ? undefined : value.plain("cwd", cwd),
    env: unlessEmpty({
      ...script?.env,
      ...Object.fromEntries(
        names.map((name) => [name, value.variable(name, "env_vars")]),
      ),
      ...value.map("env", env),
    }),
  });
}

/** Returns the name in an element of Codex's `env_vars`. */
function variableName(element: JsonValue): string {
  const { name, source = "local" } = isObject(element)
    ? element
    : { name: element };
  if (typeof name === "string" && source === "local") return name;
  throw new Error(
    `its env_vars has ${JSON.stringify(element)}, which is no variable of this machine`,
  );
}

/** A program whose argument behind `-c` is a script. */
const SHELL = /(^|\/)(ba|da|k|z)?sh$/;
const SCRIPT_OPTION = /^-[a-z]*c$/;

/** What no script expands: quoted text, and single characters. */
const NOT_EXPANDED = /("(?:\\.|[^"\\])*")|'[^']*'|\\./gs;

/** The variables that a script names, outside of what it does not expand. */
const SCRIPT_VARIABLES = /(?<!\\)\$(?:\{(\w+)[^{}]*\}|([A-Za-z_]\w*))/g;

/** Variables that every server has, or that a shell sets itself. */
const OF_SHELLS: ReadonlySet<string> = new Set(
  "HOME LANG LC_ALL LOGNAME PATH SHELL TERM TMPDIR TZ USER PWD OLDPWD IFS UID PPID RANDOM LINENO HOSTNAME".split(
    " ",
  ),
);

function readHeaders(entry: JsonObject, value: ValueReader): JsonObject {
  const token = stringOrEmpty(entry.bearer_token_env_var);
  const named = Object.entries(objectOrEmpty(entry.env_http_headers));
  return {
    ...value.map("headers", entry.headers ?? entry.http_headers),
    ...Object.fromEntries(
      named.map(([header, name]) => [
        header,
        value.variable(stringOrEmpty(name), "env_http_headers"),
      ]),
    ),
    ...(token !== "" && {
      Authorization: `Bearer ${value.variable(token, "bearer_token_env_var")}`,
    }),
  };
}

/** Gemini CLI counts in milliseconds, Codex in seconds. */
function readTimeout({
  timeout,
  tool_timeout_sec: seconds,
}: JsonObject): string | undefined {
  if (typeof timeout === "number") return `${timeout / 1000}s`;
  return typeof seconds === "number" ? `${seconds}s` : undefined;
}

/**
 * A variable of the environment: `NAME`, `NAME:-default` or `env:NAME`. Those
 * of VS Code about its window, such as `workspaceFolder`, are none.
 */
const VARIABLE = /^(?!workspace|cwd$|pathSeparator$)(?:env:)?(\w+)(:-.*)?$/s;

/** The variables of a text in the form of `config.toml`. */
const VARIABLES = /\$\{\w+\}/g;

/** What stands for a variable in an address: no address has it by chance. */
const MARK = `v${randomUUID().replaceAll("-", "")}v`;
const MARKS = new RegExp(`${MARK}(\\d+)z`, "g");

/** Reads the texts of one server. */
class ValueReader {
  readonly #server: string;
  readonly #file: ForeignFile;
  readonly #variables: Variables;

  constructor(server: string, file: ForeignFile, variables: Variables) {
    this.#server = server;
    this.#file = file;
    this.#variables = variables;
  }

  /** Returns `${NAME}` for a variable that the file names. */
  variable(name: string, field: string): string {
    if (!/^\w+$/.test(name)) {
      throw new Error(
        `its ${field} names the variable ${JSON.stringify(name)}`,
      );
    }
    return this.#variables.named(name, this.#place(field));
  }

  /**
   * Returns a text of a command line, in which devtool replaces no variables.
   * The workspace is where servers start.
   */
  plain(field: string, value: JsonValue): string {
    const text = textOf(field, value)
      .replaceAll(/\$\{workspace(Folder|Root)\}/g, ".")
      .replaceAll(/\$\{userHome\}/g, this.#variables.home);
    const variable = /\$\{[^}]*\}/.exec(text)?.[0];
    if (variable === undefined) return text;
    throw new Error(
      `its ${field} has the variable ${JSON.stringify(variable)}, which devtool replaces only in env, headers and url`,
    );
  }

  /**
   * Returns the script of a shell, and the variables that it needs: the shell
   * replaces them, so the server must have them in its environment.
   */
  script(
    field: string,
    value: JsonValue,
  ): { readonly text: string; readonly env: Record<string, string> } {
    const text = textOf(field, value)
      .replaceAll(/\$\{workspace(Folder|Root)\}/g, ".")
      .replaceAll(/\$\{userHome\}/g, this.#variables.home)
      .replaceAll(/\$\{(env|input):[^{}]*\}/g, (variable) =>
        this.#replace(field, variable),
      );
    const expanded = text.replaceAll(
      NOT_EXPANDED,
      (_, inQuotes: string | undefined) => inQuotes ?? "",
    );
    const names = [...expanded.matchAll(SCRIPT_VARIABLES)].map(
      ([, braced, bare]) => braced ?? bare ?? "",
    );
    const needed = names.filter(
      (name) =>
        /^[A-Za-z_]/.test(name) &&
        !OF_SHELLS.has(name) &&
        !new RegExp(`\\b(${name}=|(for|read)\\s+${name}\\b)`).test(expanded),
    );
    const env = needed.map((name) => [name, this.variable(name, field)]);
    return { text, env: Object.fromEntries(env) };
  }

  /** Returns an environment or headers. */
  map(field: string, values: JsonValue | undefined): Record<string, string> {
    return Object.fromEntries(
      Object.entries(objectOrEmpty(values)).map(([name, value]) => {
        const place = `${field}.${name}`;
        const text = this.#replace(place, textOf(place, value));
        // The scheme of a header is no part of its secret.
        const [, scheme = "", secret = text] =
          /^((?:bearer|basic|token)\s+)(.*)$/i.exec(text) ?? [];
        const isSecret = (own: string): boolean =>
          looksSecret(name, scheme + own);
        return [name, scheme + this.#hide(name, secret, place, isSecret)];
      }),
    );
  }

  /** Returns an address, whose user, path and query may hold secrets. */
  url(url: string): string {
    const text = this.#replace("url", url);
    // A mark in place of each variable, whose braces an address encodes.
    const variables: string[] = [];
    const mark = (value: string): string =>
      value.replaceAll(
        VARIABLES,
        (variable) => `${MARK}${variables.push(variable) - 1}z`,
      );
    const unmark = (value: string): string =>
      value.replaceAll(MARKS, (_, at: string) => variables[Number(at)] ?? "");
    const address = URL.parse(mark(text));
    if (!address) throw new Error("its url is not an address");
    const plain = address.href;
    const hide = (
      name: string,
      value: string,
      isSecret = (own: string): boolean => looksSecret(name, own),
    ): string => mark(this.#hide(name, unmark(value), "url", isSecret));
    const hideAll = (pairs: string): string =>
      new URLSearchParams(
        [...new URLSearchParams(pairs)].map(
          ([name, value]): [string, string] => [name, hide(name, value)],
        ),
      ).toString();
    address.username = hide("user", address.username, () => true);
    address.password = hide("password", address.password, () => true);
    address.pathname = address.pathname
      .split("/")
      .map((segment) => hide("path", segment, (own) => looksSecret("", own)))
      .join("/");
    // Only with a secret, as this changes the spelling of all.
    if (hideAll(address.search) !== `${new URLSearchParams(address.search)}`) {
      address.search = hideAll(address.search);
    }
    // No server gets it.
    address.hash = "";
    return address.href === plain ? text : unmark(address.href);
  }

  /**
   * Returns a value, or the variable for what looks like a secret. Throws if
   * that is only a part of the value, beside a variable.
   */
  #hide(
    name: string,
    value: string,
    field: string,
    isSecret: (own: string) => boolean,
  ): string {
    const own = value
      .replaceAll(/\/\/[\w.-]{0,19}:\$\{\w+\}@/g, "//")
      .replaceAll(VARIABLES, "");
    if (own.trim() === "" || !isSecret(own)) return value;
    if (own === value) return this.#secret(name, value, field);
    throw new Error(
      `its ${field} holds what looks like a secret beside a variable: make the whole value a variable`,
    );
  }

  #secret(name: string, secret: string, field: string): string {
    return this.#variables.forSecret(
      { server: this.#server, name, secret },
      this.#place(field),
    );
  }

  /** Returns a text with its variables in the form of `config.toml`. */
  #replace(field: string, text: string): string {
    return text.replace(
      /\$\{([^{}]*)\}|\$([A-Za-z_]\w*)/g,
      (whole: string, inside: string | undefined, bare: string | undefined) => {
        if (bare !== undefined && !this.#file.hasBareVariables) return whole;
        const words = bare ?? inside ?? "";
        if (words === "userHome") return this.#variables.home;
        const [, input] = /^input:(.+)$/.exec(words) ?? [];
        if (input !== undefined) return this.#input(input, field);
        const [, name, rest = ""] = VARIABLE.exec(words) ?? [];
        if (name === undefined) {
          throw new Error(`its ${field} has ${JSON.stringify(whole)}`);
        }
        const without = rest === "" ? "" : ", which has a default there";
        return this.#variables.named(name, this.#place(field) + without);
      },
    );
  }

  /** Returns the variable that stands for what VS Code asks its user. */
  #input(id: string, field: string): string {
    const about = this.#file.inputs.get(id) ?? "";
    return this.#variables.forInput(
      { server: this.#server, id, file: this.#file.path },
      about === "" ? this.#place(field) : `${about}, ${this.#place(field)}`,
    );
  }

  #place(field: string): string {
    return `${field} of ${JSON.stringify(this.#server)} in ${this.#file.path}`;
  }
}

function unlessEmpty(values: JsonObject): JsonObject | undefined {
  return Object.keys(values).length > 0 ? values : undefined;
}

function textOf(field: string, value: JsonValue): string {
  if (value === null || typeof value === "object") {
    throw new Error(`its ${field} is not a text`);
  }
  return String(value);
}
