// Asks before the reader leaves a page that shows something that can't be shown again.
import { useEffect, useRef, useState } from "preact/hooks";
import { Actions } from "./actions";
import { Button } from "./button";
import { Dialog } from "./dialog";

interface LeaveDialogProps {
  leaving: Leaving;
  title: string;
  text: string;
  /** Label of the button that leaves. */
  label: string;
}

/** Asks for confirmation before the reader leaves the page. */
export function LeaveDialog({ leaving, title, text, label }: LeaveDialogProps) {
  if (!leaving.asking) return null;
  return (
    <Dialog title={title} onClose={leaving.stay}>
      <p>{text}</p>
      <Actions>
        <Button kind="primary" onClick={leaving.stay}>
          Stay here
        </Button>
        <Button kind="danger" onClick={leaving.leave}>
          {label}
        </Button>
      </Actions>
    </Dialog>
  );
}

export interface Leaving {
  /** True while the reader is asked about leaving. */
  asking: boolean;
  stay: () => void;
  leave: () => void;
}

/**
 * While `guards` is true, asks for confirmation before a link, a header button or the browser's
 * Back leaves the page.
 */
export function useLeaving(guards: boolean): Leaving {
  const [way, setWay] = useState<{ out: () => void }>();
  const decided = useRef(false);
  useEffect(() => {
    if (!guards) return;
    const ask = (event: MouseEvent) => {
      const pressed = event.target instanceof Element ? event.target.closest(LEADS_AWAY) : null;
      if (decided.current || !(pressed instanceof HTMLElement) || pressed.hasAttribute("download")) return;
      // The link opens in another tab or window.
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      if (pressed instanceof HTMLAnchorElement && leadsHere(pressed))
        document.getElementById(pressed.hash.slice(1))?.scrollIntoView();
      else setWay({ out: () => pressed.click() });
    };
    const warn = (event: BeforeUnloadEvent) => {
      if (!decided.current) event.preventDefault();
    };
    // A second history entry for this page, so that Back stays on this page and can be confirmed.
    const stayHere = () => history.pushState(GUARD, "", location.href);
    const askOnBack = () => {
      if (decided.current) return;
      stayHere();
      setWay({ out: () => history.go(-2) });
    };
    stayHere();
    window.addEventListener("popstate", askOnBack);
    window.addEventListener("click", ask, true);
    window.addEventListener("beforeunload", warn);
    return () => {
      window.removeEventListener("popstate", askOnBack);
      window.removeEventListener("click", ask, true);
      window.removeEventListener("beforeunload", warn);
      if (history.state === GUARD && !decided.current) history.back();
    };
  }, [guards]);
  return {
    asking: way !== undefined,
    stay: () => setWay(undefined),
    leave: () => {
      decided.current = true;
      setWay(undefined);
      way?.out();
    },
  };
}

/** State of the second history entry, which Back leaves first. */
const GUARD = "leaving";

/** Selects links and buttons that leave the page. The link that skips to the content doesn't. */
const LEADS_AWAY = 'a[href]:not([href="#content"]), header button';

function leadsHere({ origin, pathname, search }: HTMLAnchorElement): boolean {
  return origin + pathname + search === location.origin + location.pathname + location.search;
}
