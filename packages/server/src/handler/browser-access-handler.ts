import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { AccessCodeKind, type BrowserAccessService } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import type { Operations } from "../operations.ts";
import { vapidPublicKey } from "../push/web-push.ts";
import type { WebPushNotifier } from "../push/web-push-notifier.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import {
  assertKnown,
  assertRight,
  browserSessionKey,
  callerOf,
  credentialSourceKey,
  credentialsExpireMsKey,
  rightsKey,
  rolesKey,
  userTierKey,
} from "./caller.ts";
import { assertLabel } from "./name-limit.ts";
import { observeRequest } from "./observed-call.ts";

/**
 * Creates the handler of `BrowserAccessService`, which lets web browsers in.
 */
export function createBrowserAccessHandler(
  sessions: BrowserSessions,
  webPush: Pick<WebPushNotifier, "subscribe">,
  operations: Operations | undefined,
): ServiceImpl<typeof BrowserAccessService> {
  /** Tells the observer of what was done. HTTP tells it of what was refused. */
  const observed = async <T>(
    name: string,
    context: HandlerContext,
    work: () => Promise<T>,
  ): Promise<T> => {
    const answer = await work();
    observeRequest(operations, name, context).succeed();
    return answer;
  };
  return {
    createAccessCode: ({ label, kind }, context) =>
      observed("CreateAccessCode", context, async () => {
        assertKnown(context);
        if (context.values.get(browserSessionKey) !== "") {
          const remedy = 'run "devtool console" where the server runs';
          throw new DevtoolError(
            "a browser session cannot let others in",
            Code.PermissionDenied,
            { remedy },
          );
        }
        assertLabel("label", label);
        const caller = {
          principal: callerOf(context),
          rights: context.values.get(rightsKey),
          roles: context.values.get(rolesKey),
          userTier: context.values.get(userTierKey),
          expireMs: context.values.get(credentialsExpireMsKey),
          source: context.values.get(credentialSourceKey),
        };
        const { code, expireMs } = sessions.createCode(
          caller,
          label,
          kind === AccessCodeKind.DEVICE ? "device" : "link",
        );
        return { code, expireTime: timestampFromMs(expireMs) };
      }),
    redeemAccessCode: ({ code, browser }, context) =>
      observed("RedeemAccessCode", context, async () => {
        assertLabel("browser", browser);
        return sessions.redeem(code, browser);
      }),
    listBrowserSessions: async (_request, context) => ({
      sessions: sessions.list(callerOf(context)),
      webPushKey: vapidPublicKey(await sessions.webPushKey()),
    }),
    setWebPush: (subscription, context) =>
      observed("SetWebPush", context, async () => {
        assertRight(context, "read");
        const id = context.values.get(browserSessionKey);
        if (id === "") {
          const remedy =
            "open the console with devtool console or devtool pair";
          throw new DevtoolError(
            "the caller has no browser session",
            Code.FailedPrecondition,
            { remedy },
          );
        }
        const browser = { id, principal: callerOf(context) };
        await webPush.subscribe(browser, subscription, context.signal);
        return {};
      }),
    revokeBrowserSession: ({ id }, context) =>
      observed("RevokeBrowserSession", context, async () => {
        await sessions.revoke(callerOf(context), id);
        return {};
      }),
  };
}
