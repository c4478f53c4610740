import type { TaskItem } from "@devtool/client";
import { createElement, memo, type ReactElement, type ReactNode } from "react";

/**
 * Properties of `MessageList`.
 */
export interface MessageListProps {
  /**
   * The items of a task, as `useTask` has them.
   */
  readonly items: readonly TaskItem[];
  /**
   * Renders an item. Give a function outside of components, or one of
   * `useCallback`: another function renders all items again, also those that
   * have not changed.
   */
  readonly renderItem: (item: TaskItem) => ReactNode;
}

/**
 * Renders the items of a task in order, each with its key, and only those that
 * have changed. It renders nothing of its own.
 *
 * ```tsx
 * <MessageList items={items} renderItem={renderItem} />
 * ```
 */
export function MessageList({
  items,
  renderItem,
}: MessageListProps): ReactElement[] {
  return items.map((item) =>
    createElement(OneItem, { key: item.key, item, renderItem }),
  );
}

interface OneItemProps {
  readonly item: TaskItem;
  readonly renderItem: (item: TaskItem) => ReactNode;
}

const OneItem = memo(
  ({ item, renderItem }: OneItemProps): ReactNode => renderItem(item),
);
OneItem.displayName = "MessageListItem";
