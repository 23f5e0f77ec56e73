"""All that is known of Zoom: the REST client, signatures and webhook bodies."""
