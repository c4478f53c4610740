import { join, resolve } from "node:path";
import { addAbortSignal } from "node:stream";
import { text } from "node:stream/consumers";
import { create } from "@bufbuild/protobuf";
import { ModelConfigSchema } from "@devtool/schema/operator";
import { DevtoolError } from "@devtool/server/agent";
import { AGENT_PROGRAMS } from "../agents/known-programs.ts";
import { readConfig } from "../config.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { errorMessage, UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { type Io, interruptSignal, writeLine } from "../io.ts";
import {
  API_NAMES,
  APIS,
  BASE_URLS,
  chooseModel,
  type ModelApi,
} from "../model.ts";
import {
  KEY_VARIABLES,
  MODEL_KEYS,
  readModelKeys,
  writeModelKeys,
} from "../model-keys.ts";
import { ownCommand } from "../own-command.ts";
import { assertPrivateDirectory } from "../private-file.ts";
import { createQuestioner, describeWithoutText } from "../prompter.ts";
import { countOf } from "../render/count.ts";
import { visibleName } from "../render/style.ts";

/** The options of `devtool login` and `devtool logout`. */
interface LoginOptions {
  readonly data?: string;
  /** Whether to ask the API whether it takes the key. */
  readonly check?: boolean;
}

/** Maximum time for the API to answer, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Where the keys of the APIs are made. */
const KEY_PAGES: Readonly<Record<ModelApi, string>> = {
  gemini: "https://aistudio.google.com/apikey",
  openai: "https://platform.openai.com/api-keys",
  anthropic: "https://console.anthropic.com/settings/keys",
};

/**
 * `devtool login`: asks for the key of a model's API, or reads it from standard
 * input, asks the API whether it takes it, and keeps it in the data directory.
 */
export async function login(
  named: string | undefined,
  { data: directory, check = true }: LoginOptions,
  io: Io,
): Promise<number> {
  const data = resolve(directory ?? defaultDataDirectory(io.env));
  await assertPrivateDirectory(data);
  const keys = await readModelKeys(data);
  using interrupt = interruptSignal(io);
  const api = await chooseApi(named, io, interrupt.signal);
  const key = api && (await readKey(api, io, interrupt.signal));
  if (!api || !key) {
    writeLine(io.stderr, "nothing was written");
    return ExitCode.CANCELED;
  }
  assertKey(key);
  if (check) {
    await tryKey(api, key, data, io, interrupt.signal);
  }
  const variable = KEY_VARIABLES[api];
  await writeModelKeys(data, { ...keys, [variable]: key });
  writeLine(io.stdout, `wrote ${visibleName(join(data, MODEL_KEYS))}`);
  const before = [variable, ...(api === "gemini" ? ["GOOGLE_API_KEY"] : [])];
  for (const name of before.filter((each) => io.env[each])) {
    writeLine(
      io.stderr,
      `${name} is set in the environment, and goes before the key in the file: unset it`,
    );
  }
  const command = ownCommand(io.env);
  writeLine(
    io.stdout,
    `A server that runs takes it when it is started again. "${command} init" makes it the default.`,
  );
  return ExitCode.OK;
}

/** `devtool logout`: removes the key of a model's API. */
export async function logout(
  named: string,
  { data: directory }: LoginOptions,
  io: Io,
): Promise<number> {
  const data = resolve(directory ?? defaultDataDirectory(io.env));
  await assertPrivateDirectory(data);
  const variable = KEY_VARIABLES[assertApi(named)];
  const { [variable]: removed, ...keys } = await readModelKeys(data);
  if (removed === undefined) {
    writeLine(
      io.stderr,
      `${visibleName(join(data, MODEL_KEYS))} has no ${variable}`,
    );
    return ExitCode.FAILED;
  }
  await writeModelKeys(data, keys);
  writeLine(
    io.stdout,
    `removed ${variable} here: where it was made it still counts (${KEY_PAGES[assertApi(named)]})`,
  );
  return ExitCode.OK;
}

/** Throws for what is not an API, and says how agents log in. */
function assertApi(named: string): ModelApi {
  const api = APIS.find((each) => each === named);
  if (api) return api;
  const agent = AGENT_PROGRAMS.find(({ name }) => name === named);
  throw new UsageError(
    agent
      ? `${agent.title} keeps a login of its own: ${agent.login}`
      : `"${named}" is not the API of a model: choose ${APIS.join(", ")}`,
  );
}

/** Undefined when the user leaves. Throws without a terminal. */
async function chooseApi(
  named: string | undefined,
  io: Io,
  signal: AbortSignal,
): Promise<ModelApi | undefined> {
  if (named !== undefined) return assertApi(named);
  if (!io.interactive) {
    throw new UsageError(
      `nobody can be asked: name the API of the model, ${APIS.join(", ")}`,
    );
  }
  writeLine(io.stdout, "Whose models are to answer?\n");
  for (const [index, api] of APIS.entries()) {
    writeLine(
      io.stdout,
      `  ${index + 1}  ${API_NAMES[api].padEnd(13)}  keys: ${KEY_PAGES[api]}`,
    );
  }
  writeLine(io.stdout, "");
  const questioner = createQuestioner(io, describeWithoutText);
  for (;;) {
    const prompt = `Which one? [1-${APIS.length}] > `;
    const line = await questioner.ask({ prompt, takesWords: false }, signal);
    if (!line) return undefined;
    const api = APIS[Number(line.text || "1") - 1];
    if (api) return api;
    writeLine(io.stdout, `type a number from 1 to ${APIS.length}`);
  }
}

/** Returns the key; undefined or empty when the user leaves. */
async function readKey(
  api: ModelApi,
  io: Io,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!io.interactive) {
    const stdin = addAbortSignal(signal, io.stdin);
    const key = await text(stdin).catch((reason: unknown) => {
      if (signal.aborted) return undefined;
      throw reason;
    });
    if (key?.trim() !== "") return key?.trim();
    throw new UsageError(
      `standard input has no key: devtool login ${api} <FILE`,
    );
  }
  const prompt = `Paste the key of ${API_NAMES[api]} (it is not shown) > `;
  const question = { prompt, takesWords: true, isSecret: true };
  return (await createQuestioner(io).ask(question, signal))?.text;
}

/** Throws for what cannot be a key, without showing it. */
function assertKey(key: string): void {
  if (/^[\w.~+/:=-]+$/.test(key)) return;
  throw new UsageError(
    "what was given is not a key: it is one word of letters, digits and -._~+/:=",
  );
}

/**
 * Asks the API for its models with the key, and says at which host. Throws when
 * it refuses the key.
 */
async function tryKey(
  api: ModelApi,
  key: string,
  data: string,
  { env, stdout }: Io,
  signal: AbortSignal,
): Promise<void> {
  const { model: config } = await readConfig(undefined, data, env);
  const { name = "", baseUrl = "" } = config ?? {};
  const choice = chooseModel(
    create(ModelConfigSchema, { name, baseUrl }),
    { [KEY_VARIABLES[api]]: key, [BASE_URLS[api]]: env[BASE_URLS[api]] },
    `${api}:`,
  );
  const asked = `${API_NAMES[api]}${choice?.host ? ` at ${choice.host}` : ""}`;
  writeLine(stdout, `asking ${asked} for its models with the key …`);
  try {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const models = await choice?.model.listModels?.(limit);
    const count = countOf(models?.length ?? 0, "model");
    writeLine(stdout, `${asked} takes the key, and offers ${count}`);
  } catch (reason) {
    signal.throwIfAborted();
    // The remedies of a model are for somebody who sends it a message.
    const why =
      reason instanceof DevtoolError ? reason.problem : errorMessage(reason);
    throw new Error(
      `${asked} was asked for its models with the key, and failed (${why}): nothing was written; --no-check writes it unasked`,
      { cause: reason },
    );
  }
}
