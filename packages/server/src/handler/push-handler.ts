import type { ServiceImpl } from "@connectrpc/connect";
import type { PushService } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** Answers that this server posts no notifications, as its card says, so that no client waits for one in vain. */
export function createPushHandler(): ServiceImpl<typeof PushService> {
  const refuse = (): never => {
    throw new DevtoolError("push notifications are not supported: subscribe to the task instead", Code.Unimplemented);
  };
  return { setPushConfig: refuse, getPushConfig: refuse, listPushConfigs: refuse, deletePushConfig: refuse };
}
