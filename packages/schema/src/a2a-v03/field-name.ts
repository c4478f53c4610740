/** The fields of our own requests that A2A has under another name. Those of the RFC keep theirs. */
const A2A_NAMES: ReadonlyMap<string, string> = new Map([
  ["message_id", "messageId"],
  ["context_id", "contextId"],
  ["task_id", "taskId"],
  ["page_size", "pageSize"],
  ["page_token", "pageToken"],
  ["after_sequence", "Last-Event-ID"],
  ["config_id", "pushNotificationConfigId"],
  ["reference_task_ids", "referenceTaskIds"],
]);

/** The field that an error is about, as a client of A2A spells it: `message.message_id` is `message.messageId` there. */
export function a2aFieldName(field: string): string {
  return field
    .split(".")
    .map((name) => A2A_NAMES.get(name) ?? name)
    .join(".");
}

/** The words of an error with its field as a client of A2A spells it, when they begin with the field. */
export function a2aErrorText(message: string, field: string): string {
  return field !== "" && message.startsWith(field) ? `${a2aFieldName(field)}${message.slice(field.length)}` : message;
}
