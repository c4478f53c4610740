import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { AccessCodeKind, type BrowserAccessService } from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import type { BrowserSessions } from "./browser-sessions.ts";
import {
  assertKnown,
  browserSessionKey,
  callerOf,
  credentialSourceKey,
  credentialsExpireMsKey,
  rightsKey,
  rolesKey,
  userTierKey,
} from "./caller.ts";
import { assertLabel } from "./name-limit.ts";

/**
 * Creates the handler of `BrowserAccessService`, which lets web browsers in.
 */
export function createBrowserAccessHandler(
  sessions: BrowserSessions,
): ServiceImpl<typeof BrowserAccessService> {
  return {
    createAccessCode({ label, kind }, context) {
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
    },
    redeemAccessCode: ({ code, browser }) => {
      assertLabel("browser", browser);
      return sessions.redeem(code, browser);
    },
    listBrowserSessions: (_request, context) => ({
      sessions: sessions.list(callerOf(context)),
    }),
    async revokeBrowserSession({ id }, context) {
      await sessions.revoke(callerOf(context), id);
      return {};
    },
  };
}
