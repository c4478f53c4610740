import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { acpAgent } from "@devtool/acp";
import { codexAgent } from "@devtool/codex";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { putFile } from "@devtool/internal/testing/files";
import { startFakeOpenAi } from "@devtool/openai/testing";
import { type Agent, createServer } from "@devtool/server";
import type { PermissionPolicy } from "@devtool/server/agent";
import { RfcClient, type Shown } from "../acp/rfc-client.ts";

/** The files of the real programs. */
export interface CodexPrograms {
  readonly codex: string;
  /** The script of codex-acp. */
  readonly codexAcp: string;
}

/**
 * A prompt, and the options that answer each of its questions: the first one
 * that is offered.
 */
export interface Exchange {
  readonly prompt: string;
  readonly answers?: readonly string[];
  /**
   * What a rule of the operator denies: commands with this text. Default: there
   * is no rule.
   */
  readonly denied?: string;
}

/**
 * An exchange as a client that knows only the RFC sees it, without ids and
 * times.
 */
export type Seen = Readonly<Record<string, unknown>>;

/**
 * Plays exchanges, each in a task of its own, with one of the two ways to
 * Codex.
 */
export async function play(
  way: "codex" | "codex-acp",
  programs: CodexPrograms,
  exchanges: Readonly<Record<string, Exchange>>,
): Promise<Readonly<Record<string, Seen>>> {
  // Codex refuses a home below the directory for temporary files.
  const home = realpathSync(
    mkdtempSync(join(homedir(), ".devtool-codex-ways-")),
  );
  const model = await startFakeOpenAi({ models: ["gpt-5.5"] });
  try {
    putFile(home, "config.toml", configOf(model.url));
    const seen: [string, Seen][] = [];
    for (const [name, exchange] of Object.entries(exchanges)) {
      const workspace = join(home, name.replaceAll(/\W+/g, "-"));
      putFile(workspace, "a.txt", "one\ntwo\n");
      const agent = agentOf(way, programs, home, permissionOf(exchange));
      await using server = await createServer({
        agents: { codex: agent },
        workspace,
      });
      const client = new RfcClient({
        url: server.url,
        token: server.token,
        workspace,
      });
      seen.push([name, await playOne(client, exchange, workspace)]);
    }
    return Object.fromEntries(seen);
  } finally {
    await model[Symbol.asyncDispose]();
    rmSync(home, { recursive: true });
  }
}

function permissionOf({ denied }: Exchange): PermissionPolicy {
  return ({ details }) => {
    const command =
      details.case === "executeDetails" ? details.value.command : "";
    if (denied === undefined || !command.includes(denied)) {
      return { case: "ask" };
    }
    return {
      case: "deny",
      rule: "test",
      reason: "a rule of the test denies it",
    };
  };
}

function agentOf(
  way: "codex" | "codex-acp",
  { codex, codexAcp }: CodexPrograms,
  home: string,
  permission: PermissionPolicy,
): Agent {
  const environment = {
    CODEX_HOME: home,
    HOME: home,
    PATH: process.env.PATH ?? "",
    FAKE_KEY: "fake",
  };
  if (way === "codex") {
    return codexAgent({
      command: [codex, "app-server"],
      environment,
      permission,
    });
  }
  // The same program behind both.
  const command = {
    command: process.execPath,
    args: [codexAcp],
    environment: { ...environment, CODEX_PATH: codex },
  };
  return acpAgent({
    name: "Codex",
    command,
    permission,
    mode: "read-only",
    limits: { startTimeoutMs: 120_000 },
  });
}

async function playOne(
  client: RfcClient,
  { prompt, answers = [] }: Exchange,
  workspace: string,
): Promise<Seen> {
  const signal = AbortSignal.timeout(120_000);
  const shown = [await client.begin(prompt, signal)];
  for (let last = shown[0]; last?.questions[0]; last = shown.at(-1)) {
    if (shown.length > 8) throw new Error("it asks without end");
    const [question] = last.questions;
    const offered = optionsOf(objectOrEmpty(question.confirmation_request));
    const answer = answers.find((option) => offered.includes(option)) ?? "";
    shown.push(await client.answer(last, question, answer, signal));
  }
  return JSON.parse(
    JSON.stringify(seenIn(shown)).replaceAll(workspace, "WORKSPACE"),
  );
}

function seenIn(shown: readonly Shown[]): Seen {
  const calls = shown.flatMap((each) => each.calls);
  const ids = [
    ...new Set(calls.map(({ tool_call_id: id }) => stringOrEmpty(id))),
  ];
  const asked = shown.flatMap((each) =>
    each.questions.map((question) =>
      objectOrEmpty(question.confirmation_request),
    ),
  );
  const versions = ids.map((id) =>
    calls.filter((call) => call.tool_call_id === id),
  );
  const last = versions.map((each) => objectOrEmpty(each.at(-1)));
  return {
    states: shown.map(({ state }) => state),
    text: shown.map(({ text }) => text).join(""),
    thoughts: shown
      .flatMap(({ kinds }) => kinds)
      .filter((kind) => kind === "THOUGHT").length,
    "names of tools": last.map((call) => call.tool_name),
    descriptions: last.map((call) => call.description ?? ""),
    arguments: last.map((call) => call.input_parameters ?? {}),
    "statuses of calls": versions.map((each) => statusesOf(each)),
    results: last.map(({ output, error }) => output ?? error ?? {}),
    "what is asked": asked.map(({ options: _, ...details }) => details),
    options: asked.map(optionsOf),
    artifacts: shown.flatMap(({ artifacts }) =>
      artifacts.map(({ artifactId: _random, ...artifact }) => artifact),
    ),
  };
}

function optionsOf({ options }: JsonObject): string[] {
  return listOrEmpty(options).map((option) =>
    stringOrEmpty(objectOrEmpty(option).id),
  );
}

/** The statuses of a call, each once in a row. */
function statusesOf(versions: readonly JsonObject[]): string[] {
  const statuses = versions.map(({ status }) => stringOrEmpty(status));
  return statuses.filter((status, at) => status !== statuses[at - 1]);
}

export function configOf(url: string): string {
  return `model = "gpt-5.5"
model_provider = "fake"
[model_providers.fake]
name = "Fake"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
`;
}
