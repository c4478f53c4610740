import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { playClient } from "@devtool/conformance/testing";
import { describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/**
 * A client of a few lines on an official SDK, as its documentation has it, and
 * the cases that it fails, each with the reason. A case begins with the version
 * if it fails in that one alone.
 */
interface PlainClient {
  readonly peer: string;
  readonly program: string;
  readonly file: string;
  readonly versions: readonly ("0.3" | "1.0")[];
  readonly known: Readonly<Record<string, string>>;
}

/** What none of the SDKs does. */
const NONE_DOES = {
  "broken-stream":
    "a stream that ends early is the end of its iteration, without an error; the program would have to fetch the task",
  "sse-not-json": "it parses the data of every event as JSON, also of `ping`",
  "card-odd-address": "it takes the URL of an interface to the letter",
  "card-path": "it knows the path of the card since 0.3 alone",
};

const PYTHON = {
  ...NONE_DOES,
  "broken-part": "it refuses the whole update for one part",
  "card-parts": "it refuses a card with null, or without a required field",
  "card-lower-case": "it compares the names of bindings letter by letter",
};

const PYDANTIC = {
  "0.3/unknown-state": "its enum refuses the whole update",
  "0.3/unknown-part": "its union of parts refuses the whole update",
};

const ERROR_TEXT =
  "it wants the content type of a stream before it reads the error in the JSON";

const CLIENTS: readonly PlainClient[] = [
  {
    peer: "Python a2a-sdk 1.3.0",
    program: `${HERE}.venv-1.0/bin/python`,
    file: "plain_10.py",
    versions: ["0.3", "1.0"],
    known: { ...PYTHON, ...PYDANTIC },
  },
  {
    peer: "Python a2a-sdk 0.3.26",
    program: `${HERE}.venv-0.3/bin/python`,
    file: "plain_03.py",
    versions: ["0.3"],
    known: {
      ...PYTHON,
      ...PYDANTIC,
      "unknown-kind": "its union of elements refuses the stream",
      "other-task": "its fold takes the status of any task for its own",
      "error-text": ERROR_TEXT,
    },
  },
  {
    peer: "@a2a-js/sdk 1.3.0",
    program: process.execPath,
    file: "plain-10.mjs",
    versions: ["1.0"],
    known: {
      ...NONE_DOES,
      "broken-part": "a number becomes the text of its digits",
      "sse-forms":
        "it shows nothing of a stream whose lines end in CR, which the standard of server-sent events allows",
    },
  },
  {
    peer: "@a2a-js/sdk 0.3.14",
    program: process.execPath,
    file: "plain-03.mjs",
    versions: ["0.3"],
    known: {
      ...NONE_DOES,
      "card-parts": "it refuses a card without capabilities",
      "error-text": ERROR_TEXT,
      "sse-forms":
        "it takes the last of several data lines of an event for all of it, where the standard of server-sent events joins them",
    },
  },
];

describe.concurrent("plain clients on official SDKs, tested by their command", {
  timeout: 600_000,
}, () => {
  for (const { peer, program, file, versions, known } of CLIENTS) {
    const reason = existsSync(program)
      ? LEFT_TO_CI
      : " (skipped: run npx -y pnpm@12 install:interop)";
    it.skipIf(reason !== "").each(versions)(
      `${peer} fails the cases that are known over A2A %s, and no other${reason}`,
      async (a2a) => {
        const { results } = await playClient(
          `"${program}" "${HERE}clients/${file}"`,
          { a2a, timeout: 60 },
          AbortSignal.timeout(580_000),
        );
        const failed = (await Array.fromAsync(results)).filter(
          ({ status }) => status === "failed",
        );
        const expected = Object.keys(known)
          .filter((id) => !id.includes("/") || id.startsWith(`${a2a}/`))
          .map((id) => id.replace(/.*\//, ""));
        expect(
          failed.map(({ id }) => id.replace(/.*\//, "")).toSorted(),
        ).toEqual(expected.toSorted());
      },
    );
  }
});
