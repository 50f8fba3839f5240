// Where the utility process starts.

import { serve } from './serve.mjs';

serve(process.parentPort);
