/**
 * Fields of our requests that have another name in A2A. The RFC's fields have
 * the same names in both.
 */
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

/**
 * Returns the path of a field as A2A clients spell it, for example
 * `message.messageId` for `message.message_id`.
 */
export function a2aFieldName(field: string): string {
  return field
    .split(".")
    .map((name) => A2A_NAMES.get(name) ?? name)
    .join(".");
}

/**
 * Returns an error message with its field as A2A clients spell it, if the
 * message starts with the field.
 */
export function a2aErrorText(message: string, field: string): string {
  return field !== "" && message.startsWith(field)
    ? `${a2aFieldName(field)}${message.slice(field.length)}`
    : message;
}
