// The public names of @devtool/client, one by one. Adding a name is adding API.
export { bearerInterceptor } from "./bearer-interceptor.ts";
export type { BearerToken } from "./bearer-token.ts";
export { confirmationPart, pendingToolCalls, textMessage } from "./confirmation.ts";
export { createDevtoolClient, type DevtoolClient } from "./devtool-client.ts";
export { type ExchangeOptions, observeTask, streamMessage, subscribeTask } from "./follow.ts";
export type { ResumeOptions } from "./resume.ts";
