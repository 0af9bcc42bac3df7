/** A room: `/room` to open or join one, `/room/<code>` the page that its presenter shows. */
