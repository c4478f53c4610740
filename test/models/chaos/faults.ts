import { TaskState } from "@devtool/schema";

/**
 * A way in which a model can fail, and what has to become of the task
 * (docs/models.md has the same table).
 */
export interface Fault {
  /** The fault, as the table in the documentation names it. */
  readonly name: string;
  /**
   * Makes the prompt; `effect` is a step whose command leaves a mark each time
   * it runs.
   */
  readonly script: (effect: string) => string;
  /** The state in which the task must end. */
  readonly state: TaskState.COMPLETED | TaskState.FAILED;
  /** The text that the task's error must contain when it failed. */
  readonly error?: RegExp;
  /** The number of times that the command of `effect` must have run. */
  readonly effects: 0 | 1;
  /**
   * The text that the agent must have sent, complete and without repetition.
   */
  readonly text: string;
  /**
   * The model that is asked: `hasty` waits a second for a first piece,
   * `restless` for each further one.
   */
  readonly model?: "hasty" | "restless";
  /** The number of times that the user must have been told of another try. */
  readonly notices?: number;
}

/** What is not as in most faults of a kind. */
type Unusual = Partial<Fault>;

/** A fault that costs nothing: the task does what the model wants in the end. */
function well(
  name: string,
  script: Fault["script"],
  unusual: Unusual = {},
): Fault {
  const state = TaskState.COMPLETED;
  return { name, script, state, effects: 1, text: "done", ...unusual };
}

/** A fault that ends the task, at once and without an effect. */
function fails(
  name: string,
  error: RegExp,
  script: Fault["script"],
  unusual: Unusual = {},
): Fault {
  const state = TaskState.FAILED;
  const usual = { effects: 0, text: "", notices: 0 } as const;
  return { name, error, script, state, ...usual, ...unusual };
}

/** The faults of R10. */
export const FAULTS: readonly Fault[] = [
  well(
    "429 with Retry-After, then well",
    (effect) => `fail 429 2 after 0.02\n${effect}\ntext done`,
    { notices: 2 },
  ),
  fails("429 without end", /status 429.*5 tries/, () => "fail 429", {
    notices: 4,
  }),
  well(
    "500 before the answer, then well",
    (effect) => `fail 500 1\n${effect}\ntext done`,
    { notices: 1 },
  ),
  well(
    "503 behind a tool call, then well",
    (effect) => `${effect}\nfail 503 3\ntext done`,
    { notices: 3 },
  ),
  fails(
    "503 behind a tool call, without end",
    /status 503/,
    (effect) => `${effect}\nfail 503`,
    { effects: 1, notices: 4 },
  ),
  fails("a key that is refused", /status 403.*credentials/, () => "fail 403"),
  well(
    "reset before the answer, then well",
    (effect) => `reset 1\n${effect}\ntext done`,
    { notices: 1 },
  ),
  fails(
    "reset in the middle of a text",
    /connection to the model broke/,
    () => "say 3\nreset 1",
    { text: "chunk 1 chunk 2 chunk 3 " },
  ),
  fails(
    "reset behind a tool call of the same answer",
    /connection to the model broke/,
    (effect) => `text begun\n${effect}\nreset 1\ntext done`,
    { text: "begun" },
  ),
  fails(
    "an answer that ends in the middle",
    /ended in the middle/,
    (effect) => `text begun\n${effect}\ncut 1`,
    { text: "begun" },
  ),
  well(
    "a malformed piece first, then well",
    (effect) => `malformed 1\n${effect}\ntext done`,
    { notices: 1 },
  ),
  fails(
    "a malformed piece in the middle",
    /not JSON/,
    (effect) => `text begun\n${effect}\nmalformed 1`,
    { text: "begun" },
  ),
  fails(
    "bytes that are no UTF-8",
    /not UTF-8/,
    () => "text begun\nwait 5\nbadutf8 1",
    { text: "begun" },
  ),
  well(
    "an empty answer, then well",
    (effect) => `empty 2\n${effect}\ntext done`,
    { notices: 2 },
  ),
  fails("empty answers without end", /empty answer.*5 tries/, () => "empty", {
    notices: 4,
  }),
  fails("no first byte", /first piece .* did not arrive/, () => "hang", {
    model: "hasty",
    notices: 4,
  }),
  fails(
    "silence in the middle",
    /next piece .* did not arrive/,
    (effect) => `text begun\n${effect}\nhang`,
    { model: "restless", text: "begun" },
  ),
  well("byte by byte, in time", (effect) => `drip 0\n${effect}\ntext done`),
  fails(
    "byte by byte, too slow",
    /first piece .* did not arrive/,
    () => "drip 60\ntext never",
    { model: "hasty", notices: 4 },
  ),
  well(
    "a call that comes twice",
    (effect) => `${effect}\nduplicate\ntext done`,
    { notices: 0 },
  ),
  well(
    "a tool that does not exist",
    (effect) => `call no_such_tool {}\nnext\n${effect}\ntext done`,
  ),
  well(
    "arguments that the tool refuses",
    () => 'call read_file {"no_such_argument": 1}\ntext done',
    { effects: 0 },
  ),
  fails("arguments of 10 MB", /limit is/, () => "hugeargs 10000000"),
  fails(
    "arguments of 2 MB",
    /too large.*limit is 1048576/,
    () => "hugeargs 2000000",
  ),
  fails(
    "words in circles",
    /says the same again and again/,
    () => "repeat 4000 the same words ",
    { text: "the same words" },
  ),
  fails(
    "calls in circles",
    /calls read_file in the same way again and again/,
    () =>
      Array.from({ length: 16 }, () => "read no-such-file.txt").join(
        "\nnext\n",
      ),
  ),
  fails(
    "the output limit",
    /output limit/,
    (effect) => `text begun\n${effect}\nfinish MAX_TOKENS`,
    { text: "begun" },
  ),
  fails(
    "the safety filter",
    /safety filter|refused to answer/,
    () => "text begun\nfinish SAFETY",
    { text: "begun" },
  ),
];
