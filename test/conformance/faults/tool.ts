import { answers, type Fault, fault, requests, withoutQuestion } from "./fault.ts";

/** The faults of tool calls and their questions. */
export const TOOL: readonly Fault[] = [
  fault(
    "TOOL-1",
    "running calls do not say with what",
    answers((text) =>
      text.replaceAll(/^data: .*"status":"EXECUTING".*$/gm, (frame) =>
        frame.replace('"input_parameters":', '"input":'),
      ),
    ),
  ),
  fault(
    "TOOL-2",
    "a running call still asks",
    answers((text) =>
      text.replaceAll(/^data: .*"status":"EXECUTING".*$/gm, (frame) =>
        frame.replace('"status":"EXECUTING"', '"confirmation_request":{"options":[]},"status":"EXECUTING"'),
      ),
    ),
  ),
  fault(
    "TOOL-2",
    "the event that waits for an answer does not ask",
    answers((text, { body }) => (body.includes('"message/stream"') ? withoutQuestion(text) : text)),
  ),
  fault(
    "TOOL-2",
    "a task that waits for an answer does not ask",
    answers((text, { body }) => (body.includes('"tasks/get"') ? withoutQuestion(text) : text)),
  ),
  fault(
    "TOOL-3",
    "a command has generic details",
    answers((text) => text.replaceAll('"execute_details"', '"generic_details"')),
  ),
  fault(
    "TOOL-3",
    "the path of a file is not absolute",
    answers((text) => text.replaceAll(/"file_path":"\/[^"]*\/conformance\.txt"/g, '"file_path":"conformance.txt"')),
  ),
  fault(
    "TOOL-4",
    "nothing can be allowed for good",
    answers((text) => text.replaceAll('"id":"proceed_always"', '"id":"proceed_ever"')),
  ),
  fault(
    "TOOL-4",
    "what is allowed for good is asked again",
    requests((body) => body.replace('"selected_option_id":"proceed_always"', '"selected_option_id":"proceed_once"')),
  ),
  fault(
    "TOOL-5",
    "an answer that comes too late is a bad parameter",
    answers((text, { body }) => (body.includes('"cancel"') ? text.replace('"code":-32004', '"code":-32602') : text)),
  ),
  fault(
    "TOOL-5",
    "an edit in a wrapper is passed over",
    requests((body) =>
      body.replace(/"modified_details":\{"file_details":\{"new_content":"x"\}\},?/, "").replace(",}", "}"),
    ),
  ),
  fault(
    "TOOL-5",
    "file details without a content empty the file",
    requests((body) => body.replace('"file_details":{}', '"file_details":{"new_content":""}')),
  ),
  fault(
    "TOOL-5",
    "an answer without a task starts one",
    requests((body) =>
      body.includes('"selected_option_id"') && !body.includes('"taskId"')
        ? body.replace('"selected_option_id"', '"option_chosen"')
        : body,
    ),
  ),
  fault(
    "TOOL-6",
    "the user's content is not told of",
    answers((text) => text.replaceAll("as the user edited it", "")),
  ),
  fault(
    "TOOL-6",
    "the diff of the user's content is prose",
    answers((text) =>
      text.replaceAll(/^data: .*as the user edited it.*$/gm, (frame) =>
        frame.replace(/"formatted_diff":"[^"]*"/, '"formatted_diff":"changed"'),
      ),
    ),
  ),
  fault(
    "TOOL-7",
    "output is not live",
    answers((text) => text.replaceAll('"live_content":', '"live":')),
  ),
  fault(
    "TOOL-8",
    "failures have no type",
    answers((text) => text.replaceAll('"type":"execution_failed"', '"type":""')),
  ),
];
