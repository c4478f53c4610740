import { create, toJsonString } from "@bufbuild/protobuf";
import { ProgramRequestSchema, ProgramResponseSchema } from "@devtool/schema/conformance";
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
function requestText(work: ProgramWork): string {
  const request = create(ProgramRequestSchema, { work });
  if (request.work.case !== "converse" && request.work.case !== "resume")
    return toJsonString(ProgramRequestSchema, request, PRETTY);
  const value = { ...request.work.value, token: "[hidden]" };
  return toJsonString(ProgramRequestSchema, create(ProgramRequestSchema, { work: { ...request.work, value } }), PRETTY);
}
