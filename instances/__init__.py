"""What a problem is: jobs, clusters, schedules, generators, traces and the library."""
