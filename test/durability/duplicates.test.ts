import {
  type CodingServerOptions,
  serveCodingAgent,
} from "@devtool/coding-agent";
import { createScriptedModel } from "@devtool/coding-agent/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import type { DevtoolServer } from "@devtool/server";
import { describe, expect, it } from "vitest";
import { DEPTH, roundsOf } from "../depth.ts";
import {
  type Outcome,
  type OutgoingMessage,
  SENDERS,
  type Sender,
} from "./duplicates/senders.ts";

/** The number of duplicates over each binding. */
const DUPLICATES = roundsOf("DEVTOOL_DUPLICATES", {
  quick: 100,
  ci: 500,
  deep: 10_000,
});
/**
 * Number of times that a message is sent at once, and again after or during a
 * restart.
 */
const AT_ONCE = 10;
const MESSAGES = DUPLICATES / (2 * AT_ONCE);
/**
 * Number of messages between two restarts. Few, because a restart takes as long
 * as a hundred messages.
 */
const RESTARTS_EVERY = DEPTH === "quick" ? 3 : 10;

describe("a message that is sent many times (STREAM-7, R8)", {
  timeout: 3_600_000,
}, () => {
  it.each(SENDERS)(
    `begins one turn in ${DUPLICATES} duplicates over $name, at once and over restarts; anything else under its id is a conflict`,
    async (sender) => {
      const { turns, outcomes } = await play(sender, {});
      expect([...turns.values()]).toEqual(
        Array.from({ length: MESSAGES }, () => 1),
      );
      for (const [messageId, { again, other }] of outcomes) {
        expect([messageId, taskIdsIn(again).size]).toEqual([messageId, 1]);
        expect(
          again.filter((one) => one.case === "answered" && !one.isReplay),
        ).toHaveLength(1);
        expect(other).toEqual([{ case: "conflict" }, { case: "conflict" }]);
      }
      if (DEPTH === "deep") {
        console.log(
          `R8.second-turns over ${sender.name} 0 <=0 PASS (${DUPLICATES} duplicates)`,
        );
      }
    },
  );

  it("is recorded once when the server stops while it arrives for the first time", async () => {
    await using server = new RestartingServer({});
    for (const sender of SENDERS) {
      const words = { messageId: `first-${sender.name}`, text: "text once" };
      const sent = server.repeat(sender, words);
      const [outcomes] = await Promise.all([sent, server.restart()]);
      expect(taskIdsIn(outcomes).size).toBe(1);
      expect(taskIdsIn(await server.repeat(sender, words))).toEqual(
        taskIdsIn(outcomes),
      );
    }
  });

  it("would begin many turns if no message were recognized as a retry (sabotage of R8)", async () => {
    const [sender] = SENDERS;
    if (!sender) throw new Error("there is no binding");
    const { turns, outcomes } = await play(sender, { retryWindowMs: 0 });
    expect([...turns.values()].filter((count) => count === 1)).toEqual([]);
    expect(
      [...outcomes.values()]
        .flatMap(({ other }) => other)
        .map((one) => one.case),
    ).not.toContain("conflict");
  });
});

interface Played {
  /** The number of turns of each message. */
  readonly turns: ReadonlyMap<string, number>;
  /**
   * For each message: the results of its duplicates, and of other messages with
   * its id.
   */
  readonly outcomes: ReadonlyMap<
    string,
    { readonly again: readonly Outcome[]; readonly other: readonly Outcome[] }
  >;
}

/**
 * Sends each message many times, then others with its id. Every other message
 * continues the task of the one before.
 */
async function play(
  sender: Sender,
  options: CodingServerOptions,
): Promise<Played> {
  await using server = new RestartingServer(options);
  const outcomes = new Map<
    string,
    { readonly again: readonly Outcome[]; readonly other: readonly Outcome[] }
  >();
  let taskId: string | undefined;
  for (let index = 0; index < MESSAGES; index++) {
    const to = index % 2 === 1 ? taskId : undefined;
    const words: OutgoingMessage = {
      messageId: `m${index}`,
      text: "text hi",
      ...(to !== undefined && { taskId: to }),
    };
    const again = await server.repeat(sender, words);
    const restarting =
      index % RESTARTS_EVERY === 0 ? server.restart() : undefined;
    // Every other restart happens while the next message is sent.
    if (index % (2 * RESTARTS_EVERY) === 0) await restarting;
    again.push(...(await server.repeat(sender, words)));
    await restarting;
    const place =
      to !== undefined ? {} : { taskId: await server.otherTask(sender) };
    const elsewhere = {
      messageId: words.messageId,
      text: words.text,
      ...place,
    };
    const other = [
      await server.send(sender, { ...words, text: "text other" }, index),
      await server.send(sender, elsewhere, index),
    ];
    outcomes.set(words.messageId, { again, other });
    [taskId] = taskIdsIn(again);
  }
  return { turns: server.turns, outcomes };
}

function taskIdsIn(outcomes: readonly Outcome[]): Set<string> {
  return new Set(
    outcomes.flatMap((one) => (one.case === "answered" ? [one.taskId] : [])),
  );
}

/**
 * A durable server that can restart while it is called, and counts the turns of
 * its model.
 */
class RestartingServer implements AsyncDisposable {
  readonly turns = new Map<string, number>();
  readonly #workspace = temporaryDirectory();
  readonly #data = temporaryDirectory();
  readonly #options: CodingServerOptions;
  #server: Promise<DevtoolServer>;
  #otherTask: Promise<string> | undefined;

  constructor(options: CodingServerOptions) {
    this.#options = options;
    this.#server = this.#start();
  }

  async restart(): Promise<void> {
    const old = this.#server;
    this.#server = old
      .then((server) => server.close())
      .then(() => this.#start());
    await this.#server;
  }

  /** Sends a message many times at once. */
  async repeat(sender: Sender, words: OutgoingMessage): Promise<Outcome[]> {
    return Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) =>
        this.send(sender, words, index),
      ),
    );
  }

  /** Sends a message, and sends it again if the server stops meanwhile. */
  async send(
    sender: Sender,
    words: OutgoingMessage,
    index: number,
  ): Promise<Outcome> {
    const current = this.#server;
    try {
      return await sender.send(await current, words, index);
    } catch (reason) {
      if (current === this.#server) throw reason;
      return this.send(sender, words, index);
    }
  }

  /** Begins a task that gets no message of the test. */
  otherTask(sender: Sender): Promise<string> {
    this.#otherTask ??= this.send(
      sender,
      { messageId: "other", text: "text other" },
      0,
    ).then((one) => {
      this.turns.delete("other");
      return one.case === "answered" ? one.taskId : "";
    });
    return this.#otherTask;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#server).close();
  }

  #start(): Promise<DevtoolServer> {
    const { name, generate } = createScriptedModel();
    return serveCodingAgent({
      workspace: this.#workspace,
      dataDirectory: this.#data,
      model: {
        name,
        generate: (request, signal) => {
          const messageId = request.history.at(-1)?.messageId ?? "";
          this.turns.set(messageId, (this.turns.get(messageId) ?? 0) + 1);
          return generate(request, signal);
        },
      },
      ...this.#options,
    });
  }
}
