import { createAnthropicModel } from "@devtool/anthropic";
import { startFakeAnthropic } from "@devtool/anthropic/testing";
import type { DevtoolClient } from "@devtool/client";
import { type Model, serveCodingAgent } from "@devtool/coding-agent";
import { createGeminiModel } from "@devtool/gemini";
import { startFakeGemini } from "@devtool/gemini/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { createOpenAiModel } from "@devtool/openai";
import { startFakeOpenAi } from "@devtool/openai/testing";
import { TaskState } from "@devtool/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOf } from "../client-of.ts";
import { LEFT_TO_CI, roundsOf, variantsOf } from "../depth.ts";
import { FAULTS, type Fault } from "./chaos/faults.ts";
import { playFault, violationsOf } from "./chaos/play.ts";

const ROUNDS = roundsOf("DEVTOOL_CHAOS_ROUNDS", { quick: 1, ci: 1, deep: 100 });
const PLAYED = variantsOf("faults of an API", FAULTS, 10);
const SIDE_BY_SIDE = 12;
/**
 * Above the time that a model may take for an answer: the busiest machine is
 * slow, and only what hangs is to be found.
 */
const DEADLINE_MS = 660_000;
const LIMIT_MS = 900_000 + ROUNDS * 60_000;
/** Long enough for the first pieces of a fake model on a busy machine. */
const HASTY_MS = 1000;

/** The options that the models of all APIs take. */
interface Options {
  readonly apiKey: string;
  readonly retry: { readonly baseDelayMs: number; readonly maxDelayMs: number };
  readonly timeouts: {
    readonly firstByteMs: number;
    readonly idleMs: number;
    readonly turnMs: number;
  };
}

/** A fake of an API, and the model that asks it. */
interface Api {
  readonly api: string;
  readonly start: () => Promise<AsyncDisposable & { readonly url: string }>;
  readonly create: (url: string, options: Options) => Model;
}

const APIS: readonly Api[] = [
  {
    api: "Gemini",
    start: startFakeGemini,
    create: (baseUrl, options) => createGeminiModel({ ...options, baseUrl }),
  },
  {
    api: "OpenAI Responses",
    start: startFakeOpenAi,
    create: (url, options) =>
      createOpenAiModel({
        ...options,
        baseUrl: `${url}/v1`,
        api: "responses",
        model: "gpt-test",
      }),
  },
  {
    api: "OpenAI Chat Completions",
    start: startFakeOpenAi,
    create: (url, options) =>
      createOpenAiModel({
        ...options,
        baseUrl: `${url}/v1`,
        model: "gpt-test",
      }),
  },
  {
    api: "Anthropic",
    start: startFakeAnthropic,
    create: (baseUrl, options) => createAnthropicModel({ ...options, baseUrl }),
  },
];

describe.skipIf(LEFT_TO_CI !== "").each(APIS)(
  `a model behind the API of $api that fails (R10)${LEFT_TO_CI}`,
  ({ start, create, api }) => {
    let fake: AsyncDisposable & { readonly url: string };
    let workspace: string;
    beforeAll(async () => {
      fake = await start();
      workspace = temporaryDirectory();
    });
    afterAll(() => fake[Symbol.asyncDispose]());

    const model = (): Model => {
      const patient = { firstByteMs: 60_000, idleMs: 60_000, turnMs: 600_000 };
      const options = {
        apiKey: "none",
        retry: { baseDelayMs: 2, maxDelayMs: 10 },
      };
      return byName(create(fake.url, { ...options, timeouts: patient }), {
        hasty: create(fake.url, {
          ...options,
          timeouts: { ...patient, firstByteMs: HASTY_MS },
        }),
        restless: create(fake.url, {
          ...options,
          timeouts: { ...patient, idleMs: HASTY_MS },
        }),
      });
    };

    async function violations(
      model: Model,
      faults: readonly Fault[],
      deadlineMs = DEADLINE_MS,
    ): Promise<string[]> {
      await using server = await serveCodingAgent({
        workspace,
        model,
        drainMs: 100,
      });
      const client = clientOf(server, "2");
      const found: string[] = [];
      const queue = [...faults];
      const work = async (): Promise<void> => {
        for (let fault = queue.pop(); fault; fault = queue.pop()) {
          const outcome = await playFault(client, fault, {
            id: crypto.randomUUID(),
            workspace,
            deadlineMs,
          });
          found.push(...violationsOf(fault, outcome));
        }
      };
      await Promise.all(Array.from({ length: SIDE_BY_SIDE }, work));
      return [...found, ...(await stuckTasks(client))];
    }

    it(`does what the documentation says, ${PLAYED.length} faults × ${ROUNDS}`, {
      timeout: LIMIT_MS,
    }, async () => {
      const rounds = Array.from({ length: ROUNDS }, () => PLAYED).flat();
      expect(await violations(model(), rounds)).toEqual([]);
      console.info(
        `R10, ${api}: ${rounds.length} of ${rounds.length} as documented, 0 tools twice, 0 stuck`,
      );
    });

    describe.runIf(api === "Gemini")("is caught (sabotage of R10)", () => {
      const only = (...names: readonly string[]): Fault[] =>
        FAULTS.filter(({ name }) => names.includes(name));

      it("when it asks again after its answer has begun", async () => {
        const faults = only(
          "reset in the middle of a text",
          "reset behind a tool call of the same answer",
        );
        const found = await violations(stubborn(model()), faults);
        expect(found).toContainEqual(
          expect.stringMatching(/^reset in the middle.*not FAILED/),
        );
        expect(found).toContainEqual(
          expect.stringMatching(
            /^reset behind.*ran its command 1 times, not 0/,
          ),
        );
      });

      it("when it takes a call that comes twice for two", async () => {
        const found = await violations(
          doubling(model()),
          only("a call that comes twice"),
        );
        expect(found).toEqual([
          "a call that comes twice: ran its command 2 times, not 1",
        ]);
      });

      it("when it waits without end", async () => {
        const found = await violations(
          patient(model()),
          only("silence in the middle"),
          1500,
        );
        expect(found).toContain(
          "silence in the middle: did not end before its deadline",
        );
        expect(found).toContain("1 tasks are stuck");
      });
    });
  },
);

/** A model that lets another one answer when a message asks for it. */
function byName(model: Model, others: Readonly<Record<string, Model>>): Model {
  return {
    ...model,
    generate: (request, signal) =>
      (others[request.model] ?? model).generate(request, signal),
  };
}

/**
 * A model that waits as long as its most patient one, whatever a message asks
 * for.
 */
function patient(model: Model): Model {
  return {
    ...model,
    generate: (request, signal) =>
      model.generate({ ...request, model: "" }, signal),
  };
}

/** A model that asks again whatever has come of the answer. */
function stubborn(model: Model): Model {
  return {
    ...model,
    generate: async function* (request, signal) {
      try {
        yield* model.generate(request, signal);
      } catch {
        yield* model.generate(request, signal);
      }
    },
  };
}

/** A model that makes each call twice. */
function doubling(model: Model): Model {
  return {
    ...model,
    generate: async function* (request, signal) {
      for await (const event of model.generate(request, signal)) {
        yield event;
        if (event.case === "toolCall") yield event;
      }
    },
  };
}

async function stuckTasks(client: DevtoolClient): Promise<string[]> {
  const states = [
    TaskState.SUBMITTED,
    TaskState.WORKING,
    TaskState.INPUT_REQUIRED,
  ];
  const pages = await Promise.all(
    states.map((state) => client.tasks.listTasks({ state, pageSize: 100 })),
  );
  const stuck = pages.flatMap(({ tasks }) => tasks);
  return stuck.length > 0 ? [`${stuck.length} tasks are stuck`] : [];
}
