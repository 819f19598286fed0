// The address typed on one of the guests' pages, kept in memory for the next page.
import { useState } from "preact/hooks";
import * as session from "../session";

let typed = "";
session.listen(() => {
  typed = "";
});

export function useTypedEmail(): [string, (email: string) => void] {
  const [email, setEmail] = useState(typed);
  return [
    email,
    (next) => {
      typed = next;
      setEmail(next);
    },
  ];
}
