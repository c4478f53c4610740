import { ConnectError } from "@connectrpc/connect";
import { useEffect, useMemo, useRef, useState } from "react";

/**
 * Something that notifies of its changes.
 */
interface Subscribable {
  subscribe(listener: () => void): () => void;
}

/**
 * Runs an action until the component unmounts. Resolves to false when the
 * action failed, and to true when it succeeded or is not waited for any more.
 */
export type RunAction = (
  act: (signal: AbortSignal) => Promise<void>,
) => Promise<boolean>;

/**
 * Returns the actions on a view, which stay the same for it, and the error of
 * the latest one.
 *
 * After an unmount, actions stop waiting as soon as `isDelivered` holds.
 *
 * @param create creates the actions; a function that does not change
 * @param isDelivered a function that does not change, too: with another one,
 * running actions are stopped
 */
export function useActions<View extends Subscribable, Actions>(
  view: View,
  create: (view: View, run: RunAction) => Actions,
  isDelivered: (view: View) => boolean,
): readonly [Actions, ConnectError | undefined] {
  const [failed, setFailed] = useState<{
    readonly view: View;
    readonly error: ConnectError;
  }>();
  const mounted = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    mounted.current = controller;
    return () => abortWhen(controller, view, isDelivered);
  }, [view, isDelivered]);
  const actions = useMemo(
    () =>
      create(view, async (act) => {
        const { signal } = mounted.current;
        try {
          await act(signal);
          setFailed(undefined);
          return true;
        } catch (reason) {
          if (signal.aborted) return reason === signal.reason;
          setFailed({ view, error: ConnectError.from(reason) });
          return false;
        }
      }),
    [view, create],
  );
  return [actions, failed?.view === view ? failed.error : undefined];
}

/**
 * Aborts once a view has nothing to deliver.
 */
function abortWhen<View extends Subscribable>(
  controller: AbortController,
  view: View,
  isDelivered: (view: View) => boolean,
): void {
  if (isDelivered(view)) {
    controller.abort();
    return;
  }
  const stop = view.subscribe(() => {
    if (!isDelivered(view)) return;
    stop();
    controller.abort();
  });
}
