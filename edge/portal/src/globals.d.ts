/** Where the API is, without a trailing slash; empty when it is on the portal's own origin. */
declare const API_URL: string;
