import { existsSync, readdirSync } from "node:fs";
import type { JsonObject } from "@bufbuild/protobuf";
import { fileText } from "@devtool/internal/testing/files";
import type { ServerProcess } from "../durability/crash/server-process.ts";
import { killChildrenOf } from "./processes.ts";
import type { RealAgent } from "./real-agents.ts";
import { RfcClient, type Shown } from "./rfc-client.ts";

/** An agent behind a server, in a workspace of its own. */
export interface Stage {
  readonly agent: RealAgent;
  readonly workspace: string;
  /** The server that runs now. */
  readonly server: () => ServerProcess;
  /** Kills the server and starts it again. */
  readonly restart: () => Promise<void>;
}

/** How long one turn of a real agent may take, in milliseconds. */
const TURN_MS = 60_000;
/** How often a question that comes again is answered. */
const MAX_QUESTIONS = 4;

/**
 * The tests of an agent, by the row of the table in docs/agents.md. Each
 * returns the text of a cell.
 */
export const PROBES: Readonly<
  Record<string, (stage: Stage) => Promise<string>>
> = {
  async "text streams"(stage) {
    const { state, text } = await clientOf(stage).begin(
      "text Hello from the model.",
      timeout(),
    );
    return yesOrNo(
      state === "completed" && text.includes("Hello from the model."),
    );
  },
  async thoughts(stage) {
    const { kinds } = await clientOf(stage).begin(
      "think\ntext Done.",
      timeout(),
    );
    return yesOrNo(kinds.includes("THOUGHT"));
  },
  async "asks, then runs"(stage) {
    const asking = await ask(stage, "allowed");
    const ended = await answerAll(stage, asking, "proceed_once");
    return yesOrNo(
      asking.state === "input-required" &&
        ended.state === "completed" &&
        runsOf(stage, "allowed") === 1,
    );
  },
  async "a declined call does not run"(stage) {
    const asking = await ask(stage, "declined");
    const ended = await answerAll(stage, asking, "cancel");
    // It may wait for a message, but not for another answer.
    const asksNoMore = ended.questions.length === 0;
    return yesOrNo(
      asking.state === "input-required" &&
        asksNoMore &&
        runsOf(stage, "declined") === 0,
    );
  },
  async "a turn is canceled"(stage) {
    const client = clientOf(stage);
    const taskId = await client.start("wait 600000\ntext Too late.", timeout());
    await client.call("tasks/cancel", { id: taskId }, timeout());
    return yesOrNo((await client.stateOf(taskId, timeout())) === "canceled");
  },
  async "an answer after `kill -9` of the server"(stage) {
    const asking = await ask(stage, "server-killed");
    await stage.restart();
    return endAfterCrash(stage, asking, "server-killed");
  },
  async "an answer after `kill -9` of the agent"(stage) {
    const asking = await ask(stage, "agent-killed");
    await killChildrenOf(stage.server().info.pid);
    return endAfterCrash(stage, asking, "agent-killed");
  },
};

/**
 * Begins a task in which the agent asks whether it may run a command that
 * leaves one line in a file.
 */
function ask(stage: Stage, name: string): Promise<Shown> {
  return clientOf(stage).begin(
    `${stage.agent.runs(`echo x >> ${name}.txt`)}\ntext Ended.`,
    timeout(),
  );
}

/**
 * Has the agent write a file, and declines. Returns whether it asked, and wrote
 * nothing.
 */
export async function asksToWrite(
  stage: Stage,
  step: string,
  path: string,
): Promise<boolean> {
  const asking = await clientOf(stage).begin(`${step}\ntext Ended.`, timeout());
  await answerAll(stage, asking, "cancel");
  return asking.state === "input-required" && !existsSync(path);
}

/**
 * Answers a question that was open before a crash, and says what came of it:
 * the command `runs once`, or the agent loaded its session and its model was
 * `told to continue`, which a script does not. Throws if the command runs
 * twice.
 */
async function endAfterCrash(
  stage: Stage,
  asking: Shown,
  name: string,
): Promise<string> {
  let ended = await answerAll(stage, asking, "proceed_once");
  // Where the agent had said that the call runs, its question ended with it,
  // and the task waits for a message.
  if (ended.state === "") {
    ended = await clientOf(stage).say(
      asking,
      "Continue with what you were doing.",
      timeout(),
    );
  }
  if (asking.state !== "input-required" || ended.state !== "completed") {
    return "no";
  }
  return afterCrash(runsOf(stage, name), ended.text);
}

/**
 * Returns the words for what came of a question that was answered after a
 * crash: see `endAfterCrash`.
 */
export function afterCrash(runs: number, text: string): string {
  if (runs > 1) throw new Error(`the command ran ${runs} times`);
  if (runs === 1) return "runs once";
  return TOLD_TO_CONTINUE.test(text) ? "told to continue" : "no";
}

/** The prompt after a crash, as the fake model repeats it. */
const TOLD_TO_CONTINUE =
  /You said: (?:Continue with what you were doing|You were restarted)/;

function yesOrNo(fact: unknown): string {
  return fact === true ? "yes" : "no";
}

/** Answers the questions of a task until it asks no more. */
async function answerAll(
  stage: Stage,
  asking: Shown,
  option: string,
): Promise<Shown> {
  let shown = asking;
  for (
    let count = 0;
    count < MAX_QUESTIONS && shown.state === "input-required";
    count++
  ) {
    const [question]: readonly JsonObject[] = shown.questions;
    if (question === undefined) return shown;
    shown = await clientOf(stage).answer(shown, question, option, timeout());
  }
  return shown;
}

/**
 * Returns how many lines the command of a test left in the file that is named
 * for the test.
 */
export function runsOf(
  { workspace }: Pick<Stage, "workspace">,
  name: string,
): number {
  const file = `${name}.txt`;
  return readdirSync(workspace).includes(file)
    ? fileText(workspace, file).trim().split("\n").length
    : 0;
}

function clientOf({ server, workspace }: Stage): RfcClient {
  const { url, token } = server().info;
  return new RfcClient({ url, token, workspace });
}

function timeout(): AbortSignal {
  return AbortSignal.timeout(TURN_MS);
}
