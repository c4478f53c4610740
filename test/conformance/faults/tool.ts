import {
  changeAnswers,
  changeRequests,
  type Faults,
  removeQuestion,
} from "./fault.ts";

/** Faults of tool calls and their questions. */
export const TOOL: Faults = {
  "TOOL-1": {
    "running calls do not have their input": {
      spoil: changeAnswers((text) =>
        text.replaceAll(/^data: .*"status":"EXECUTING".*$/gm, (frame) =>
          frame.replace('"input_parameters":', '"input":'),
        ),
      ),
      also: ["TOOL-12"],
    },
  },
  "TOOL-2": {
    "a running call still has its question": changeAnswers((text) =>
      text.replaceAll(/^data: .*"status":"EXECUTING".*$/gm, (frame) =>
        frame.replace(
          '"status":"EXECUTING"',
          '"confirmation_request":{"options":[]},"status":"EXECUTING"',
        ),
      ),
    ),
    "the event that waits for an answer has no question": changeAnswers(
      (text, { body }) =>
        body.includes('"message/stream"') ? removeQuestion(text) : text,
    ),
    "a task that waits for an answer has no question": changeAnswers(
      (text, { body }) =>
        body.includes('"tasks/get"') ? removeQuestion(text) : text,
    ),
  },
  "TOOL-3": {
    "a command has generic details": {
      spoil: changeAnswers((text) =>
        text.replaceAll('"execute_details"', '"generic_details"'),
      ),
      also: ["TOOL-12"],
    },
    "the path of a file is not absolute": changeAnswers((text) =>
      text.replaceAll(
        /"file_path":"\/[^"]*\/conformance\.txt"/g,
        '"file_path":"conformance.txt"',
      ),
    ),
  },
  "TOOL-4": {
    "nothing can be allowed permanently": changeAnswers((text) =>
      text.replaceAll('"id":"proceed_always"', '"id":"proceed_ever"'),
    ),
    "what was allowed permanently is asked again": changeRequests((body) =>
      body.replace(
        '"selected_option_id":"proceed_always"',
        '"selected_option_id":"proceed_once"',
      ),
    ),
  },
  "TOOL-5": {
    // An answer that names its question is another requirement's (TOOL-11).
    "a late answer is an invalid parameter": changeAnswers((text, { body }) =>
      body.includes('"cancel"') && !body.includes("shown-digest")
        ? text.replace('"code":-32004', '"code":-32602')
        : text,
    ),
    "an edit in a wrapper is ignored": changeRequests((body) =>
      body
        .replace(
          /"modified_details":\{"file_details":\{"new_content":"x"\}\},?/,
          "",
        )
        .replace(",}", "}"),
    ),
    "file details without content empty the file": changeRequests((body) =>
      body.replace('"file_details":{}', '"file_details":{"new_content":""}'),
    ),
    "an answer without a task creates one": changeRequests((body) =>
      body.includes('"selected_option_id"') && !body.includes('"taskId"')
        ? body.replace('"selected_option_id"', '"option_chosen"')
        : body,
    ),
  },
  "TOOL-6": {
    "the user's content is not mentioned": changeAnswers((text) =>
      text.replaceAll("as the user edited it", ""),
    ),
    "the diff of the user's content is not a diff": changeAnswers((text) =>
      text.replaceAll(/^data: .*as the user edited it.*$/gm, (frame) =>
        frame.replace(/"formatted_diff":"[^"]*"/, '"formatted_diff":"changed"'),
      ),
    ),
  },
  "TOOL-7": {
    "output is not live": changeAnswers((text) =>
      text.replaceAll('"live_content":', '"live":'),
    ),
  },
  "TOOL-8": {
    "failures have no type": changeAnswers((text) =>
      text.replaceAll('"type":"execution_failed"', '"type":""'),
    ),
  },
  "TOOL-11": {
    "the question that an answer names is ignored": {
      spoil: changeRequests((body) =>
        body.replace(
          /"https:\/\/devtool\.dev\/a2a\/shown-digest\/v1alpha":"[\w+/=]{43,}"/,
          '"x":1',
        ),
      ),
      also: ["TOOL-12"],
    },
    "an invalid digest is ignored": changeRequests((body) =>
      body.replace(
        '"https://devtool.dev/a2a/shown-digest/v1alpha":"shown"',
        '"x":1',
      ),
    ),
  },
  "TOOL-12": {
    "changed arguments are ignored, and the call runs as it was":
      changeRequests((body) =>
        body
          .replace(WITH_ARGUMENTS, "")
          .replace('"modify_arguments"', '"proceed_once"'),
      ),
    "changed arguments without a required one are taken": changeRequests(
      (body) =>
        body.replace(NO_ARGUMENTS, (key) =>
          key.replace("{}", '{"command":"eval echo x"}'),
        ),
    ),
    "an unknown argument is ignored": changeRequests((body) =>
      body.replace(',"comand":"x"', ""),
    ),
    "a call that asks again shows the arguments of the model": changeAnswers(
      (text) =>
        text.replaceAll(/^data: .*"status":"PENDING".*$/gm, (frame) =>
          frame.replaceAll("echo edited", "echo asked"),
        ),
    ),
  },
};

/**
 * The arguments of a user as the kit sends them, with the comma before or after
 * them.
 */
const WITH_ARGUMENTS =
  /"https:\/\/devtool\.dev\/a2a\/modified-arguments\/v1alpha":\{[^}]*\},?/;
const NO_ARGUMENTS =
  /"https:\/\/devtool\.dev\/a2a\/modified-arguments\/v1alpha":\{\}/;
