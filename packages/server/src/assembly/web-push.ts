import type { BrowserSessions } from "../handler/browser-sessions.ts";
import { OPERATOR } from "../handler/caller.ts";
import { ListedChanges } from "../handler/listed-changes.ts";
import { WebPushNotifier } from "../push/web-push-notifier.ts";
import type { ServerSettings } from "../server-options.ts";
import { rightsOfRoles } from "../transport/auth/role-authenticator.ts";
import { type PushPolicyOptions, pushPolicy } from "./notifications.ts";
import type { ServerCore, Surroundings } from "./server-core.ts";

/**
 * Creates what notifies browsers while their pages are closed. It begins with
 * `start()`.
 */
export function createWebPush(
  browsers: BrowserSessions,
  { store, registry, operations }: ServerCore,
  { authentication, pushTargets = [] }: ServerSettings,
  { publicUrl, ownPorts, clock, random, onError }: Surroundings,
): WebPushNotifier {
  const { roles = [] } = authentication ?? {};
  const policy: PushPolicyOptions = { pushTargets, ownPorts };
  return new WebPushNotifier({
    ...{ browsers, store, clock, random, onError, operations },
    sender: {
      policy: pushPolicy(policy),
      key: () => browsers.webPushKey(),
      issuer: publicUrl,
      now: () => clock.now(),
    },
    mayRead: (browser) =>
      roles.length === 0 ||
      browser.principal === OPERATOR.principal ||
      rightsOfRoles(browser.roles, roles).rights.has("read"),
    async *changes(onBegin, signal) {
      using watch = registry.feed.watch(undefined);
      if (store.shared) {
        // Other servers of the store change tasks, too.
        const others = await ListedChanges.begin(store, undefined);
        void others.follow(store.shared.changes, watch, signal);
      }
      await onBegin();
      yield* watch.read(signal);
    },
  });
}
