import { create, toJsonString } from "@bufbuild/protobuf";
import {
  type Converse,
  type ProgramRequest,
  ProgramRequestSchema,
  ProgramResponseSchema,
} from "@devtool/schema/conformance";
import type { Recording } from "./binding/recording.ts";
import type { Program, ProgramWork } from "./program.ts";

/** A program, of which what it is asked and what it answers is kept: the evidence of a case. Each request is a step. */
export function recordedProgram(program: Pick<Program, "ask">, recording: Recording): Pick<Program, "ask"> {
  let step = 0;
  return {
    async ask(work, signal) {
      step += 1;
      recording.begin(step);
      recording.sent(work.case ?? "", [], requestText(work));
      const outcome = await program.ask(work, signal);
      recording.answered(outcome.case ?? "nothing", []);
      recording.received(toJsonString(ProgramResponseSchema, create(ProgramResponseSchema, { outcome }), PRETTY));
      return outcome;
    },
  };
}

const PRETTY = { prettySpaces: 2 } as const;

/** A request as JSON, its token hidden. */
function requestText(asked: ProgramWork): string {
  const { work } = create(ProgramRequestSchema, { work: asked });
  return toJsonString(ProgramRequestSchema, create(ProgramRequestSchema, { work: withoutToken(work) }), PRETTY);
}

function withoutToken(work: ProgramRequest["work"]): ProgramRequest["work"] {
  switch (work.case) {
    case "converse":
    case "resume":
      return { ...work, value: hidden(work.value) };
    case "converseOverA2a":
    case "resumeOverA2a": {
      const { conversation } = work.value;
      return { ...work, value: { ...work.value, ...(conversation && { conversation: hidden(conversation) }) } };
    }
    case "readJson":
    case "readBinary":
    case undefined:
      return work;
    default:
      return work satisfies never;
  }
}

function hidden(conversation: Converse): Converse {
  return { ...conversation, token: "[hidden]" };
}
