// The public names of @devtool/client, one by one. Adding a name is adding API.
export { confirmationPart, pendingToolCalls, textMessage } from "./confirmation.ts";
export { bearerInterceptor, createDevtoolClient, type DevtoolClient } from "./devtool-client.ts";
export { observeTask, streamMessage, subscribeTask } from "./follow.ts";
export type { ResumeOptions } from "./resume.ts";
