import { create, toJsonString } from "@bufbuild/protobuf";
import type { Recording } from "../binding/recording.ts";
import {
  type Converse,
  type ProgramRequest,
  ProgramRequestSchema,
  ProgramResponseSchema,
} from "../protos.ts";
import type { AskProgram } from "./program.ts";

const PRETTY = { prettySpaces: 2 } as const;

/**
 * Wraps a program so that its requests and answers are recorded as evidence.
 * Each request is a step.
 */
export function recordedProgram(
  program: AskProgram,
  recording: Recording,
): AskProgram {
  let step = 0;
  return {
    async ask(work, signal) {
      step += 1;
      recording.startStep(step);
      const request = create(ProgramRequestSchema, { work });
      const shown = create(ProgramRequestSchema, {
        work: hideToken(request.work),
      });
      recording.addRequest(
        work.case ?? "",
        [],
        toJsonString(ProgramRequestSchema, shown, PRETTY),
      );
      const outcome = await program.ask(work, signal);
      const response = create(ProgramResponseSchema, { outcome });
      recording.setResponse(outcome.case ?? "nothing", []);
      recording.setResponseBody(
        toJsonString(ProgramResponseSchema, response, PRETTY),
      );
      return outcome;
    },
  };
}

function hideToken(work: ProgramRequest["work"]): ProgramRequest["work"] {
  const hide = (conversation: Converse): Converse => ({
    ...conversation,
    token: "[hidden]",
  });
  switch (work.case) {
    case "converse":
    case "resume":
      return { ...work, value: hide(work.value) };
    case "converseOverA2a":
    case "resumeOverA2a":
    case "converseWithAgent": {
      const { conversation } = work.value;
      return conversation
        ? {
            ...work,
            value: { ...work.value, conversation: hide(conversation) },
          }
        : work;
    }
    case "readJson":
    case "readBinary":
    case undefined:
      return work;
    default:
      return work satisfies never;
  }
}
