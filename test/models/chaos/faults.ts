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

const { COMPLETED, FAILED } = TaskState;

/** The faults of R10. */
export const FAULTS: readonly Fault[] = [
  {
    name: "429 with Retry-After, then well",
    script: (effect) => `fail 429 2 after 0.02\n${effect}\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
    notices: 2,
  },
  {
    name: "429 without end",
    script: () => "fail 429",
    state: FAILED,
    error: /status 429.*5 tries/,
    effects: 0,
    text: "",
    notices: 4,
  },
  {
    name: "500 before the answer, then well",
    script: (effect) => `fail 500 1\n${effect}\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
    notices: 1,
  },
  {
    name: "503 behind a tool call, then well",
    script: (effect) => `${effect}\nfail 503 3\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
    notices: 3,
  },
  {
    name: "503 behind a tool call, without end",
    script: (effect) => `${effect}\nfail 503`,
    state: FAILED,
    error: /status 503/,
    effects: 1,
    text: "",
    notices: 4,
  },
  {
    name: "a key that is refused",
    script: () => "fail 403",
    state: FAILED,
    error: /status 403.*credentials/,
    effects: 0,
    text: "",
    notices: 0,
  },
  {
    name: "reset before the answer, then well",
    script: (effect) => `reset 1\n${effect}\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
    notices: 1,
  },
  {
    name: "reset in the middle of a text",
    script: () => "say 3\nreset 1",
    state: FAILED,
    error: /connection to the model broke/,
    effects: 0,
    text: "chunk 1 chunk 2 chunk 3 ",
    notices: 0,
  },
  {
    name: "reset behind a tool call of the same answer",
    script: (effect) => `text begun\n${effect}\nreset 1\ntext done`,
    state: FAILED,
    error: /connection to the model broke/,
    effects: 0,
    text: "begun",
    notices: 0,
  },
  {
    name: "an answer that ends in the middle",
    script: (effect) => `text begun\n${effect}\ncut 1`,
    state: FAILED,
    error: /ended in the middle/,
    effects: 0,
    text: "begun",
    notices: 0,
  },
  {
    name: "a malformed piece first, then well",
    script: (effect) => `malformed 1\n${effect}\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
    notices: 1,
  },
  {
    name: "a malformed piece in the middle",
    script: (effect) => `text begun\n${effect}\nmalformed 1`,
    state: FAILED,
    error: /not JSON/,
    effects: 0,
    text: "begun",
    notices: 0,
  },
  {
    name: "bytes that are no UTF-8",
    script: () => "text begun\nwait 5\nbadutf8 1",
    state: FAILED,
    error: /not UTF-8/,
    effects: 0,
    text: "begun",
    notices: 0,
  },
  {
    name: "an empty answer, then well",
    script: (effect) => `empty 2\n${effect}\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
    notices: 2,
  },
  {
    name: "empty answers without end",
    script: () => "empty",
    state: FAILED,
    error: /empty answer.*5 tries/,
    effects: 0,
    text: "",
    notices: 4,
  },
  {
    name: "no first byte",
    model: "hasty",
    script: () => "hang",
    state: FAILED,
    error: /first piece .* did not arrive/,
    effects: 0,
    text: "",
    notices: 4,
  },
  {
    name: "silence in the middle",
    model: "restless",
    script: (effect) => `text begun\n${effect}\nhang`,
    state: FAILED,
    error: /next piece .* did not arrive/,
    effects: 0,
    text: "begun",
    notices: 0,
  },
  {
    name: "byte by byte, in time",
    script: (effect) => `drip 0\n${effect}\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
  },
  {
    name: "byte by byte, too slow",
    model: "hasty",
    script: () => "drip 60\ntext never",
    state: FAILED,
    error: /first piece .* did not arrive/,
    effects: 0,
    text: "",
    notices: 4,
  },
  {
    name: "a call that comes twice",
    script: (effect) => `${effect}\nduplicate\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
    notices: 0,
  },
  {
    name: "a tool that does not exist",
    script: (effect) => `call no_such_tool {}\nnext\n${effect}\ntext done`,
    state: COMPLETED,
    effects: 1,
    text: "done",
  },
  {
    name: "arguments that the tool refuses",
    script: () => 'call read_file {"no_such_argument": 1}\ntext done',
    state: COMPLETED,
    effects: 0,
    text: "done",
  },
  {
    name: "arguments of 10 MB",
    script: () => "hugeargs 10000000",
    state: FAILED,
    error: /limit is/,
    effects: 0,
    text: "",
    notices: 0,
  },
  {
    name: "arguments of 2 MB",
    script: () => "hugeargs 2000000",
    state: FAILED,
    error: /too large.*limit is 1048576/,
    effects: 0,
    text: "",
    notices: 0,
  },
  {
    name: "words in circles",
    script: () => "repeat 4000 the same words ",
    state: FAILED,
    error: /says the same again and again/,
    effects: 0,
    text: "the same words",
    notices: 0,
  },
  {
    name: "calls in circles",
    script: () =>
      Array.from({ length: 16 }, () => "read no-such-file.txt").join(
        "\nnext\n",
      ),
    state: FAILED,
    error: /calls read_file in the same way again and again/,
    effects: 0,
    text: "",
    notices: 0,
  },
  {
    name: "the output limit",
    script: (effect) => `text begun\n${effect}\nfinish MAX_TOKENS`,
    state: FAILED,
    error: /output limit/,
    effects: 0,
    text: "begun",
    notices: 0,
  },
  {
    name: "the safety filter",
    script: () => "text begun\nfinish SAFETY",
    state: FAILED,
    error: /safety filter|refused to answer/,
    effects: 0,
    text: "begun",
    notices: 0,
  },
];
